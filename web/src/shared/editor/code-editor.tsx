// The editor room: code and JSON. A text area until the editor is loaded, and where it cannot be.
import { Input, Textarea } from '@mantine/core'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import classes from './code-editor.module.css'
import type { CompletionName, Editor, EditorOptions } from './code-mirror.ts'
import type { Language } from './completion-range.ts'

type CodeEditorProps = {
  label: string
  description?: ReactNode
  language: Language
  value: string
  onChange?(value: string): void
  /** Names to offer: inside of `{{ … }}` in Liquid, after `$` in bash. */
  completions?: readonly CompletionName[]
  error?: ReactNode
  readOnly?: boolean
  disabled?: boolean
  minLines?: number
}

const NO_COMPLETIONS: readonly CompletionName[] = []

/** What is typed before the editor is loaded stays, and so does the cursor. */
export function CodeEditor(props: CodeEditorProps) {
  const { label, description, language, value, completions = NO_COMPLETIONS, minLines = 4 } = props
  const isReadOnly = Boolean(props.readOnly || props.disabled)
  const error = props.error ? String(props.error) : undefined
  const options: EditorOptions = { label, language, completions, error, isReadOnly }
  const host = useRef<HTMLDivElement>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  const editor = useRef<Editor>(undefined)
  const latest = useRef({ props, options })
  latest.current = { props, options }
  const [isLoaded, setLoaded] = useState(false)
  const id = useId()

  useEffect(() => {
    let isGone = false
    const mount = async () => {
      const { mountEditor } = await import('./code-mirror.ts')
      if (isGone || !host.current) return
      const { props, options } = latest.current
      editor.current = mountEditor({
        host: host.current,
        value: props.value,
        options,
        onChange: (next) => latest.current.props.onChange?.(next),
      })
      // What is hidden takes no focus.
      host.current.hidden = false
      const typed = area.current
      if (typed && document.activeElement === typed) {
        editor.current.focus({ from: typed.selectionStart, to: typed.selectionEnd })
      }
      // At once, so that the page never has two inputs of one name.
      flushSync(() => setLoaded(true))
    }
    // Without the chunk the text area stays: it does everything that matters.
    mount().catch(() => undefined)
    return () => {
      isGone = true
      editor.current?.destroy()
      editor.current = undefined
    }
  }, [])

  useEffect(() => editor.current?.setValue(value), [value])
  // biome-ignore lint/correctness/useExhaustiveDependencies: `options` is new in each render; these are its parts
  useEffect(() => editor.current?.setOptions(options), [label, language, completions, error, isReadOnly])

  return (
    <Input.Wrapper
      label={label}
      labelElement="div"
      labelProps={{ id, onClick: () => editor.current?.focus() ?? area.current?.focus() }}
      description={description}
      error={error}
    >
      <div
        ref={host}
        className={classes.host}
        hidden={!isLoaded}
        data-invalid={error ? '' : undefined}
        style={{ '--editor-lines': minLines } as React.CSSProperties}
      />
      {!isLoaded && (
        <Textarea
          ref={area}
          classNames={{ input: classes.area }}
          aria-label={label}
          value={value}
          onChange={(event) => props.onChange?.(event.currentTarget.value)}
          readOnly={isReadOnly}
          rows={minLines + 1}
        />
      )}
    </Input.Wrapper>
  )
}
