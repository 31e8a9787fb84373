// The state of a form that creates or changes a record: values, errors of the API at their inputs, a draft in the tab,
// and what to do when somebody else changed the record meanwhile.
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { GantryError } from '#client/index.ts'
import { useSession } from '#web/base/session/session.ts'
import { capitalized, splitErrors } from '#web/base/ui/field-errors.ts'
import { changedFields, inputFor, isSame } from './changes.ts'
import { dropDraft, readDraft, writeDraft } from './drafts.ts'
import { blockNavigation, leave } from './leave-guard.ts'
import { type Base, rebase, type Stored } from './rebase.ts'

export type { Stored } from './rebase.ts'

export type FieldErrors = Record<string, string | null | undefined>

type RecordFormOptions<Values extends object, Saved> = {
  /** Names the draft: `server-12`, `server-new-3`. */
  id: string
  initial: Values
  validate?(values: Values): FieldErrors
  /** Fields that are never kept in the draft. */
  secrets?: readonly (keyof Values & string)[]
  /** The ETag of the record that is changed. */
  version?: string | null | undefined
  /** The input that shows the API's error for a field; by default the one of its name, or of its first part. */
  fields?(field: string): string | undefined
  /** `base` is what the changes are compared with: the record as loaded, or as taken over after a conflict. */
  save(values: Values, ifMatch: string | undefined, base: Values): Promise<Saved>
  /** The record as it is now, after somebody else changed it. */
  reload?(): Promise<Stored<Values>>
  /** Until it has finished, the form counts as saving. */
  onSaved(saved: Saved, values: Values): void | Promise<void>
}

export type RecordForm<Values extends object> = ReturnType<typeof useRecordForm<Values, unknown>>

export function useRecordForm<Values extends object, Saved>(options: RecordFormOptions<Values, Saved>) {
  const { initial, validate, secrets = [], fields, save, reload, onSaved } = options
  const draftKey = `draft:${useSession().user.id}:${options.id}`
  const [base, setBase] = useState<Base<Values>>({ values: initial, version: options.version ?? null })
  const [draft] = useState(() => readDraft(draftKey, initial))
  const [isRestored, setRestored] = useState(draft !== undefined)
  const [values, setValues] = useState<Values>({ ...initial, ...draft })
  const [invalid, setInvalid] = useState<FieldErrors>({})
  const [theirs, setTheirs] = useState<Stored<Values>>()
  /** Inputs that were changed since they were sent: what the API said is about the value before. */
  const [changedSince, setChangedSince] = useState<ReadonlySet<string>>(new Set())
  const release = useRef<() => void>(undefined)
  const isForgotten = useRef(false)
  const isSending = useRef(false)

  const changed = changedFields(base.values, values)
  const isDirty = Object.keys(changed).length > 0

  const loaded: Stored<Values> = { values: initial, version: options.version ?? null }
  const rebased = theirs ? undefined : rebase(base, values, loaded, secrets)
  if (rebased) {
    setBase(rebased.base)
    setValues(rebased.values)
  }

  useEffect(() => {
    const forget = () => {
      isForgotten.current = true
      dropDraft(draftKey)
    }
    release.current = isDirty ? blockNavigation(forget) : undefined
    return () => release.current?.()
  }, [isDirty, draftKey])
  useEffect(() => {
    if (isForgotten.current) return
    if (isDirty) writeDraft(draftKey, changed, secrets)
    else dropDraft(draftKey)
  })

  const mutation = useMutation({
    // What it returns may be a secret that is shown once.
    gcTime: 0,
    mutationFn: ({ sent, on }: { sent: Values; on: Stored<Values> }) => store(sent, on),
    async onSuccess(saved, { sent }) {
      dropDraft(draftKey)
      release.current?.()
      // A form that stays on the page goes on with what it saved; the new version arrives when it is loaded again.
      setBase(({ version }) => ({ values: sent, version, older: loaded.version, isSaved: true }))
      setRestored(false)
      await onSaved(saved, sent)
    },
    onSettled() {
      isSending.current = false
    },
  })

  async function store(sent: Values, on: Stored<Values>): Promise<Saved> {
    try {
      return await save(sent, on.version ?? undefined, on.values)
    } catch (error) {
      if (!(error instanceof GantryError && error.status === 412 && reload)) throw error
      // If it cannot be loaded now, the form says what happened; saving again loads it again.
      const stored = await reload().catch(() => undefined)
      // A part of the record that this form does not show: nobody has to decide anything. Who else changed a secret
      // cannot be seen.
      const isSecret = secrets.some((name) => !isSame(sent[name], on.values[name]))
      if (stored && !isSecret && isSame(stored.values, on.values))
        return save(sent, stored.version ?? undefined, stored.values)
      setTheirs(stored)
      throw error
    }
  }

  /** Once at a time: a second press may arrive before the button shows that the first one did. */
  function send(sent: Values, on: Stored<Values>): void {
    if (isSending.current) return
    isSending.current = true
    setChangedSince(new Set())
    mutation.mutate({ sent, on })
  }

  function submit(): void {
    const found = withoutEmpty(validate?.(values) ?? {})
    setInvalid(found)
    if (Object.keys(found).length === 0) send(values, base)
  }

  function set<Name extends keyof Values & string>(name: Name, value: Values[Name]): void {
    isForgotten.current = false
    setValues((before) => ({ ...before, [name]: value }))
    setInvalid((before) => ({ ...before, [name]: undefined }))
    setChangedSince((before) => (before.has(name) ? before : new Set([...before, name])))
  }

  function discard(): void {
    setValues(base.values)
    setInvalid({})
    setRestored(false)
    // The form may be gone before it renders again.
    dropDraft(draftKey)
    mutation.reset()
  }

  /** Discards what is unsaved, once the person has confirmed it. */
  function leaveBy(go: () => void): void {
    const discardAndGo = () => {
      discard()
      go()
    }
    if (isDirty) leave(discardAndGo)
    else go()
  }

  /** The person's changes on top of what is stored now. */
  function keepMine(): void {
    if (!theirs) return
    const merged = { ...theirs.values, ...changed }
    setBase({ ...theirs, older: loaded.version })
    setValues(merged)
    setTheirs(undefined)
    send(merged, theirs)
  }

  function takeTheirs(): void {
    if (!theirs) return
    setBase({ ...theirs, older: loaded.version })
    setValues(theirs.values)
    setTheirs(undefined)
    mutation.reset()
  }

  const names = Object.keys(values)
  const inputOf = (field: string) => fields?.(field) ?? inputFor(field, names)
  const answer = splitErrors(mutation.error, inputOf, sentence)
  const current = Object.entries(answer.errors).filter(([name]) => !changedSince.has(name))
  const errors: FieldErrors = { ...Object.fromEntries(current), ...withoutEmpty(invalid) }
  return {
    values,
    errors,
    /** What no input shows. */
    error: theirs ? null : answer.rest,
    isDirty,
    isSaving: mutation.isPending,
    isRestored,
    conflict: theirs && { theirs: theirs.values, keepMine, takeTheirs },
    set,
    submit,
    discard,
    leaveBy,
    /** Props of an input. */
    field<Name extends keyof Values & string>(name: Name, kind: 'value' | 'checkbox' = 'value') {
      const onChange = (input: unknown) => set(name, enteredValue(input, kind) as Values[Name])
      const error = errors[name] ?? undefined
      // biome-ignore lint/suspicious/noExplicitAny: every input has its own type of value
      const shown: any = kind === 'checkbox' ? { checked: values[name] } : { value: values[name] }
      return { ...shown, name, error, onChange }
    },
  }
}

/** Inputs pass an event or the value itself. */
function enteredValue(input: unknown, kind: 'value' | 'checkbox'): unknown {
  if (typeof input !== 'object' || input === null || !('currentTarget' in input)) return input
  const target = input.currentTarget as HTMLInputElement
  return kind === 'checkbox' ? target.checked : target.value
}

function withoutEmpty(errors: FieldErrors): Record<string, string> {
  return Object.fromEntries(Object.entries(errors).filter(([, text]) => text)) as Record<string, string>
}

/** The API's messages continue the field's name: "must be at least 8 characters". */
function sentence(text: string, field: string, input: string): string {
  if (field.startsWith(`${input}.`)) return `${field.slice(input.length + 1)}: ${text}.`
  return `${capitalized(text)}${/[.!?]$/.test(text) ? '' : '.'}`
}
