// What editor.js uses of CodeMirror: one call that puts an SQL editor with completion of names into a shadow root.
// A shadow root, since there styles come as constructed sheets, which the page's policy allows.
import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { PostgreSQL, SQLDialect, sql } from "@codemirror/lang-sql";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { classHighlighter } from "@lezer/highlight";
import { EditorView, drawSelection, keymap } from "@codemirror/view";

// Names are found in any case, as DuckDB finds them, so none is put in quotes for its capitals.
const dialect = SQLDialect.define({ ...PostgreSQL.spec, caseInsensitiveIdentifiers: true });

export function edit({ parent, root, text, label, schema, run, changed }) {
  return new EditorView({
    doc: text, parent, root,
    extensions: [
      keymap.of([{ key: "Mod-Enter", run: () => { run(); return true; } }]),
      history(), drawSelection(), bracketMatching(), closeBrackets(), autocompletion({ activateOnTyping: true }),
      syntaxHighlighting(classHighlighter), EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.updateListener.of(update => { if (update.docChanged) changed(update.state.doc.toString()); }),
      sql({ dialect, schema, upperCaseKeywords: true }),
      keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
    ],
  });
}
