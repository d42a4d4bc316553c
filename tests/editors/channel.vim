" Vim without plugins: its channels speak LSP. Prints what it got as one line of JSON.
" vim -Nu NONE -es -S channel.vim, the server's command in $CLOVER_SERVER, the output file in $CLOVER_OUT
set nocompatible noswapfile viminfo= nomore encoding=utf-8
let s:job = job_start(json_decode($CLOVER_SERVER), #{in_mode: 'lsp', out_mode: 'lsp', err_mode: 'nl', noblock: 1})

func s:Ask(method, params)
  return ch_evalexpr(s:job, #{method: a:method, params: a:params}, #{timeout: 20000})
endfunc
func s:Tell(method, params)
  call ch_sendexpr(s:job, #{method: a:method, params: a:params})
endfunc

let s:init = s:Ask('initialize', #{processId: getpid(), rootUri: v:null,
      \ capabilities: #{general: #{positionEncodings: ['utf-8']}, textDocument: #{inlineCompletion: {}}}})
call s:Tell('initialized', {})
let s:uri = 'untitled:Untitled-1'
call setline(1, ['total = price * count', ''])
call s:Tell('textDocument/didOpen', #{textDocument: #{uri: s:uri, languageId: 'python', version: 1,
      \ text: join(getline(1, '$'), "\n")}})
call append('$', ['名 = "😀"', 'tot'])
call s:Tell('textDocument/didChange', #{textDocument: #{uri: s:uri, version: 2},
      \ contentChanges: [#{text: join(getline(1, '$'), "\n")}]})
let s:answer = s:Ask('textDocument/inlineCompletion', #{textDocument: #{uri: s:uri},
      \ position: #{line: 3, character: 3}, context: #{triggerKind: 1}})
let s:item = s:answer.result.items[0]
call setline(4, getline(4) .. s:item.insertText)
let s:found = #{encoding: s:init.result.capabilities.positionEncoding, text: s:item.insertText,
      \ offered: has_key(s:init.result.capabilities, 'inlineCompletionProvider'), buffer: getline(1, '$')}
let s:found.shutdown = s:Ask('shutdown', v:null)->has_key('result')
call s:Tell('exit', {})
call writefile([json_encode(s:found)], $CLOVER_OUT)
qa!
