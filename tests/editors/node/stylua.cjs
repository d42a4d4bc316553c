// Prints, as JSON, which Lua files are not as StyLua formats them: node stylua.cjs [--write] FILE...
const fs = require("node:fs");
const { Config, IndentType, OutputVerification, formatCode } = require("@johnnymorganz/stylua");

const write = process.argv[2] === "--write";
const others = [];
for (const file of process.argv.slice(write ? 3 : 2)) {
  const config = Config.new();
  config.column_width = 100;
  config.indent_type = IndentType.Spaces;
  config.indent_width = 2;
  const code = fs.readFileSync(file, "utf-8");
  const formatted = formatCode(code, config, undefined, OutputVerification.None);
  if (formatted !== code) {
    others.push(file);
    if (write) fs.writeFileSync(file, formatted);
  }
}
console.log(JSON.stringify(others));
