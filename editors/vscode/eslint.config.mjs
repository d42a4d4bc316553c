import eslint from "@eslint/js";
import typescript from "typescript-eslint";

export default typescript.config(
  { ignores: ["dist", "build", "node_modules", "*.mjs"] },
  eslint.configs.recommended,
  typescript.configs.strictTypeChecked,
  { languageOptions: { parserOptions: { projectService: true } } },
  { rules: { "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }] } },
  {
    // what decides is plain TypeScript, tested without an editor: only src/editor and the wiring call VS Code
    files: ["src/*.ts", "test/*.ts"],
    ignores: ["src/extension.ts"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        { paths: ["vscode-languageclient", "vscode-languageclient/node", { name: "vscode", allowTypeImports: true }] },
      ],
    },
  },
  {
    // node:test's functions return promises that it awaits itself
    files: ["test/*.ts"],
    rules: { "@typescript-eslint/no-floating-promises": "off" },
  },
);
