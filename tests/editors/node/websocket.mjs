// A page's side of LSP over WebSocket: the WHATWG WebSocket and vscode-ws-jsonrpc, as
// monaco-languageclient uses them. node --experimental-websocket websocket.mjs URL
import { createWebSocketConnection, toSocket } from "vscode-ws-jsonrpc";

const [url, token] = process.argv[2].split("#token=");
const socket = new WebSocket(url, ["lsp", `token.${token}`]);
await new Promise((resolve, reject) => {
  socket.onopen = resolve;
  socket.onerror = reject;
});
const connection = createWebSocketConnection(toSocket(socket), console);
connection.listen();
await connection.sendRequest("initialize", { processId: null, rootUri: null, capabilities: {} });
await connection.sendNotification("initialized", {});
const uri = "inmemory://model/1";
const text = "total = price * count\n\ntot";
await connection.sendNotification("textDocument/didOpen", {
  textDocument: { uri, languageId: "python", version: 1, text },
});
const answer = await connection.sendRequest("textDocument/inlineCompletion", {
  textDocument: { uri },
  position: { line: 2, character: 3 },
  context: { triggerKind: 1 },
});
await connection.sendRequest("shutdown");
const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
await connection.sendNotification("exit");
const { code, wasClean } = await closed;
console.log(JSON.stringify({ protocol: socket.protocol, items: answer.items, code, wasClean }));
