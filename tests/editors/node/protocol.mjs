// The protocol library of VS Code, without VS Code: prints what it got as one line of JSON.
import { spawn } from "node:child_process";
import {
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidOpenTextDocumentNotification,
  ErrorCodes,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  InlineCompletionRequest,
  InlineCompletionTriggerKind,
  LSPErrorCodes,
  ShutdownRequest,
  StreamMessageReader,
  StreamMessageWriter,
  CancellationTokenSource,
} from "vscode-languageserver-protocol/node";

const [command, ...args] = JSON.parse(process.env.CLOVER_SERVER);
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const connection = createProtocolConnection(
  new StreamMessageReader(server.stdout),
  new StreamMessageWriter(server.stdin),
);
const problems = [];
connection.onError(([error]) => problems.push(String(error)));
connection.onUnhandledNotification(() => {});
connection.listen();

const { capabilities } = await connection.sendRequest(InitializeRequest.type, {
  processId: process.pid,
  rootUri: null,
  capabilities: {
    general: { positionEncodings: ["utf-16"] },
    textDocument: { inlineCompletion: { dynamicRegistration: false } },
  },
});
await connection.sendNotification(InitializedNotification.type, {});
const uri = "untitled:Untitled-1";
const opened = { uri, languageId: "python", version: 1, text: "total = price * count\n\n" };
await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument: opened });
const at = { line: 2, character: 0 };
await connection.sendNotification(DidChangeTextDocumentNotification.type, {
  textDocument: { uri, version: 2 },
  contentChanges: [{ range: { start: at, end: at }, text: "😀 = 1\ntot" }],
});
const ask = {
  textDocument: { uri },
  position: { line: 3, character: 3 },
  context: { triggerKind: InlineCompletionTriggerKind.Automatic },
};
const answer = await connection.sendRequest(InlineCompletionRequest.type, ask);

const endless = '# clover-fake: {"text": "slow", "steps": 600, "step_ms": 50}\nx = ';
await connection.sendNotification(DidOpenTextDocumentNotification.type, {
  textDocument: { ...opened, version: 3, text: endless },
});
const cancelling = new CancellationTokenSource();
const cancelled = connection.sendRequest(
  InlineCompletionRequest.type,
  { ...ask, position: { line: 1, character: 4 } },
  cancelling.token,
);
cancelling.cancel();
const error = await cancelled.then(
  () => null,
  (reason) => reason.code,
);
await connection.sendRequest(ShutdownRequest.type);
await connection.sendNotification(ExitNotification.type);
const status = await new Promise((resolve) => server.on("exit", resolve));
console.log(
  JSON.stringify({
    provider: capabilities.inlineCompletionProvider,
    encoding: capabilities.positionEncoding,
    items: answer.items,
    cancelled: error === LSPErrorCodes.RequestCancelled && error !== ErrorCodes.InternalError,
    status,
    problems,
  }),
);
