/** Choosing the model, and fetching it. */
import { type LogOutputChannel, ProgressLocation, window } from "vscode";

import { listModels, type Model, pullModel } from "../models.js";
import { environment, set } from "./settings.js";
import type { StatusBar } from "./statusBar.js";

export class ModelPicker {
  constructor(
    private readonly bar: StatusBar,
    private readonly log: LogOutputChannel,
  ) {}

  /** Have the user choose, fetch what is not here, and set it; whether another model is set. Raises ProgramFailed. */
  async choose(program: string): Promise<boolean> {
    const models = await listModels(program, environment());
    const items = models.map((model) => ({
      label: `${model.chosen ? "$(check) " : ""}${model.name}`,
      description: `${gigabytes(model)} GB, ${model.license}${model.ready ? "" : ", to be downloaded"}`,
      detail: model.title,
      model,
    }));
    const picked = await window.showQuickPick(items, { title: "Which model writes?" });
    if (!picked) return false;
    if (!picked.model.ready && !(await this.#pull(program, picked.model))) return false;
    if (!picked.model.chosen) await set("model", picked.model.name);
    return true;
  }

  /** If the model in use is not here, ask whether to fetch it; whether it came. Raises ProgramFailed. */
  async offer(program: string): Promise<boolean> {
    const chosen = (await listModels(program, environment())).find((model) => model.chosen);
    if (!chosen || chosen.ready) return false;
    const question = `The model ${chosen.name} (${gigabytes(chosen)} GB, ${chosen.license}) is not on this machine yet.`;
    const answer = await window.showInformationMessage(question, "Download", "Choose Another…");
    if (answer === "Choose Another…") return this.choose(program);
    return answer === "Download" && this.#pull(program, chosen);
  }

  async #pull(program: string, model: Model): Promise<boolean> {
    const aborting = new AbortController();
    const options = { location: ProgressLocation.Notification, title: `Model ${model.name}`, cancellable: true };
    try {
      await window.withProgress(options, async (progress, token) => {
        token.onCancellationRequested(() => { aborting.abort(); });
        let before = 0;
        await pullModel(program, model.name, {
          env: environment(),
          signal: aborting.signal,
          line: (line) => { this.log.info(line); },
          told: (stage, share) => {
            this.bar.tell({ pull: { model: model.name, share } });
            progress.report({ message: stage, increment: (share - before) * 100 });
            before = share;
          },
        });
      });
      return true;
    } catch (error) {
      // what has arrived is kept: the next time goes on from there
      if (aborting.signal.aborted) return false;
      throw error;
    } finally {
      this.bar.tell({ pull: undefined });
    }
  }
}

function gigabytes(model: Model): string {
  return (model.size / 1e9).toFixed(1);
}
