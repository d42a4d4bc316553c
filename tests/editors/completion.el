;;; completion.el --- the popup's completion of eglot or lsp-mode, in batch mode  -*- lexical-binding: t -*-
;; emacs --batch -l completion.el, the server's command in CLOVER_SERVER, the file in CLOVER_FILE, the
;; client, eglot or lsp-mode, in CLOVER_CLIENT; prints what completes the word at point, as JSON.
(package-initialize)
(require 'python)
(require 'json)

(defvar clover-command (append (json-parse-string (getenv "CLOVER_SERVER")) nil))

(defun clover-start-eglot (file)
  (require 'eglot)
  (setq eglot-sync-connect 20 eglot-autoreconnect nil)
  (let ((modes (if (version< emacs-version "29") '(python-mode) 'python-mode)))
    (eglot modes (cons 'transient (file-name-directory file)) 'eglot-lsp-server clover-command
           "python")))

(defun clover-start-lsp-mode (file)
  (require 'lsp-mode)
  (setq lsp-auto-guess-root t lsp-restart 'ignore lsp-enable-snippet nil lsp-response-timeout 20)
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection clover-command)
                    :activation-fn (lsp-activate-on "python")
                    :notification-handlers (lsp-ht ("clover/status" #'ignore))
                    :server-id 'clover-write))
  (lsp-workspace-folders-add (file-name-directory file))
  (lsp)
  (while (not (and (lsp-workspaces)
                   (eq 'initialized (lsp--workspace-status (car (lsp-workspaces))))))
    (accept-process-output nil 0.1)))

(let* ((file (getenv "CLOVER_FILE"))
       (eglot (equal (getenv "CLOVER_CLIENT") "eglot")))
  (find-file file)
  (python-mode)
  (if eglot (clover-start-eglot file) (clover-start-lsp-mode file))
  (goto-char (point-max))
  (insert "tot")
  (let* ((found (if eglot (eglot-completion-at-point) (lsp-completion-at-point)))
         (texts (all-completions "tot" (nth 2 found) (plist-get (nthcdr 3 found) :predicate))))
    (princ (json-encode (vconcat (mapcar #'substring-no-properties texts))))
    (terpri))
  (set-buffer-modified-p nil)
  (kill-emacs 0))
;;; completion.el ends here
