/** The setting `languages`: when ghost text comes, by language identifier. */

export type Mode = "automatic" | "manual" | "off";
export type Languages = Readonly<Record<string, { readonly mode?: Mode }>>;

/** The mode of a language; `*` stands for those that are not named. */
export function modeOf(languages: Languages, language: string): Mode {
  return languages[language]?.mode ?? languages["*"]?.mode ?? "automatic";
}

/** The same, but nowhere does ghost text come by itself. */
export function onlyWhenAsked(languages: Languages): Languages {
  const named = Object.keys(languages).map((language) => {
    const mode: Mode = modeOf(languages, language) === "off" ? "off" : "manual";
    return [language, { mode }] as const;
  });
  return { "*": { mode: "manual" }, ...Object.fromEntries(named) };
}

/** The same, with one language paused, or no longer. */
export function toggled(languages: Languages, language: string): Languages {
  const mode: Mode = modeOf(languages, language) === "automatic" ? "manual" : "automatic";
  const others: Languages = Object.fromEntries(Object.entries(languages).filter(([name]) => name !== language));
  // what says nothing new goes, so that settings.json ends as it began
  return modeOf(others, language) === mode ? others : { ...others, [language]: { mode } };
}
