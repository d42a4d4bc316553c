;;; eglot.el --- eglot in batch mode: prints what it got as one line of JSON  -*- lexical-binding: t -*-
;; emacs --batch -l eglot.el, the server's command in CLOVER_SERVER, the file to edit in CLOVER_FILE
(unless (require 'eglot nil t) (package-initialize) (require 'eglot))
(require 'python)
(require 'json)

(setq eglot-sync-connect 20 eglot-autoreconnect nil eglot-confirm-server-initiated-edits nil)

;; eglot does not know the capability of LSP 3.18
(cl-defmethod eglot-client-capabilities :around ((_server eglot-lsp-server))
  (let ((capabilities (cl-call-next-method)))
    (plist-put capabilities :textDocument
               (plist-put (plist-get capabilities :textDocument)
                          :inlineCompletion '(:dynamicRegistration :json-false)))))

(defun clover-request (method params)
  (jsonrpc-request (eglot-current-server) method params :timeout 20))

(defun clover-complete ()
  "The items at point, once the server knows of every edit."
  (eglot--signal-textDocument/didChange)
  (plist-get (clover-request :textDocument/inlineCompletion
                             (append (eglot--TextDocumentPositionParams)
                                     '(:context (:triggerKind 1))))
             :items))

(let* ((command (append (json-parse-string (getenv "CLOVER_SERVER")) nil))
       (file (getenv "CLOVER_FILE"))
       (project (cons 'transient (file-name-directory file)))
       (modes (if (version< emacs-version "29") '(python-mode) 'python-mode)))
  (find-file file)
  (python-mode)
  (eglot modes project 'eglot-lsp-server command "python")
  (goto-char (point-max))
  (insert "名 = \"😀\"\ntot")
  (let* ((item (aref (clover-complete) 0))
         (offered (plist-get (eglot--capabilities (eglot-current-server)) :inlineCompletionProvider)))
    (insert (plist-get item :insertText))
    (let ((again (clover-complete)))
      (princ (json-encode
              (list :server (jsonrpc-name (eglot-current-server))
                    :offered (if offered t (plist-member (eglot--capabilities (eglot-current-server))
                                                         :inlineCompletionProvider))
                    :text (plist-get item :insertText)
                    :buffer (buffer-substring-no-properties (point-min) (point-max))
                    :again (length again))))
      (terpri)))
  (set-buffer-modified-p nil)
  (eglot-shutdown (eglot-current-server) nil 20))
;;; eglot.el ends here
