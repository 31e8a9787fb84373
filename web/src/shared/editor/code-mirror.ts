// CodeMirror, in a shadow root: there it adopts style sheets, which the content security policy allows. In the
// document it would add a style element, which the policy blocks. Loaded when the first editor is shown.
import {
  autocompletion,
  type CompletionContext,
  completionKeymap,
  completionStatus,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { json } from '@codemirror/lang-json'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, StreamLanguage, syntaxHighlighting } from '@codemirror/language'
import { shell } from '@codemirror/legacy-modes/mode/shell'
import { Annotation, Compartment, EditorState, type Extension } from '@codemirror/state'
import { Decoration, EditorView, keymap, lineNumbers, MatchDecorator, ViewPlugin } from '@codemirror/view'
import { codeHighlight, codeTheme } from './code-theme.ts'
import { completionStart, type Language } from './completion-range.ts'

export type CompletionName = { label: string; detail?: string; info?: string }

export type EditorOptions = {
  label: string
  language: Language
  completions: readonly CompletionName[]
  error: string | undefined
  isReadOnly: boolean
}

export type Editor = {
  setValue(value: string): void
  setOptions(options: EditorOptions): void
  focus(selection?: { from: number; to: number }): void
  destroy(): void
}

type Mount = { host: HTMLElement; value: string; options: EditorOptions; onChange(value: string): void }

const DESCRIPTION_ID = 'description'
const HINT = 'Tab leaves the editor. Ctrl+] indents, Ctrl+[ outdents.'

/** Set on changes that come from the page, not from the person. */
const fromPage = Annotation.define<boolean>()

export function mountEditor({ host, value, options, onChange }: Mount): Editor {
  // A remounted component finds the shadow root of before.
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open', delegatesFocus: true })
  const description = Object.assign(document.createElement('div'), { id: DESCRIPTION_ID, hidden: true })
  const optional = new Compartment()
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: value,
      extensions: [
        history(),
        bracketMatching(),
        EditorView.lineWrapping,
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        syntaxHighlighting(codeHighlight),
        codeTheme,
        optional.of(optionExtensions(options)),
        EditorView.updateListener.of((update) => {
          // While names are offered, Escape closes their list and not the dialog around the editor.
          host.setAttribute('data-mantine-stop-propagation', String(completionStatus(update.state) !== null))
          const isTyped = update.transactions.some((one) => one.docChanged && !one.annotation(fromPage))
          if (isTyped) onChange(update.state.doc.toString())
        }),
      ],
    }),
  })
  root.append(description)
  describe(options)

  function describe({ error, isReadOnly }: EditorOptions): void {
    description.textContent = [error, isReadOnly ? undefined : HINT].filter(Boolean).join(' ')
  }

  return {
    setValue(next) {
      const before = view.state.doc.toString()
      // CodeMirror holds every line break as \n.
      if (next.replaceAll(/\r\n?/g, '\n') === before) return
      view.dispatch({ changes: { from: 0, to: before.length, insert: next }, annotations: fromPage.of(true) })
    },
    setOptions(next) {
      describe(next)
      view.dispatch({ effects: optional.reconfigure(optionExtensions(next)) })
    },
    focus(selection) {
      const length = view.state.doc.length
      if (selection)
        view.dispatch({
          selection: { anchor: Math.min(selection.from, length), head: Math.min(selection.to, length) },
        })
      view.focus()
    },
    destroy() {
      view.destroy()
      description.remove()
    },
  }
}

function optionExtensions({ label, language, completions, error, isReadOnly }: EditorOptions): Extension[] {
  return [
    LANGUAGES[language],
    language === 'liquid' || language === 'text' ? [] : lineNumbers(),
    autocompletion({
      override: completions.length === 0 ? [] : [(context) => complete(context, language, completions)],
      icons: false,
    }),
    EditorState.readOnly.of(isReadOnly),
    EditorView.contentAttributes.of({
      'aria-label': label,
      // What scrolls around it must contain something that says it takes the focus.
      tabindex: '0',
      'aria-describedby': DESCRIPTION_ID,
      'aria-readonly': String(isReadOnly),
      ...(error === undefined ? {} : { 'aria-invalid': 'true' }),
    }),
  ]
}

function complete(context: CompletionContext, language: Language, names: readonly CompletionName[]) {
  const before = context.state.sliceDoc(0, context.pos)
  const from = completionStart(before, language, context.explicit)
  return from === undefined ? null : { from, options: [...names], validFor: /^[\w.]*$/ }
}

/** Marks `{{ … }}` and `{% … %}` above the language around them. */
const liquidMarks = new MatchDecorator({
  regexp: /\{\{.*?\}\}|\{%.*?%\}/g,
  decoration: Decoration.mark({ class: 'cm-liquid' }),
})

const liquid = ViewPlugin.define(
  (view) => ({
    decorations: liquidMarks.createDeco(view),
    update(update) {
      this.decorations = liquidMarks.updateDeco(update, this.decorations)
    },
  }),
  { decorations: (plugin) => plugin.decorations },
)

const LANGUAGES: Record<Language, Extension> = {
  bash: StreamLanguage.define(shell),
  json: json(),
  yaml: yaml(),
  'liquid-json': [json(), liquid],
  liquid,
  text: [],
}
