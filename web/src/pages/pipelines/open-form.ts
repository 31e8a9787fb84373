// Which step's form is open. It is part of the URL, so that a reload opens it again, with what was typed. Pure.
import type { NewPosition } from './step-order.ts'

export type OpenForm =
  | { kind: 'change'; id: number }
  | { kind: 'add'; position: NewPosition; copyOf: number | undefined }
  | undefined

export function readOpenForm(search: URLSearchParams): OpenForm {
  const id = readId(search.get('step'))
  if (id !== undefined) return { kind: 'change', id }
  const text = search.get('add')
  const position = text === 'first' || text === 'last' ? text : readId(text)
  return position === undefined ? undefined : { kind: 'add', position, copyOf: readId(search.get('copy')) }
}

/** The URL's parameters for it; those of other forms are removed. */
export function openFormSearch(form: OpenForm): Record<'step' | 'add' | 'copy', string | undefined> {
  const none = { step: undefined, add: undefined, copy: undefined }
  if (form === undefined) return none
  if (form.kind === 'change') return { ...none, step: String(form.id) }
  return { ...none, add: String(form.position), copy: form.copyOf?.toString() }
}

function readId(text: string | null): number | undefined {
  return text !== null && /^[1-9]\d{0,14}$/.test(text) ? Number(text) : undefined
}
