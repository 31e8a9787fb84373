import { type RefObject, useEffect, useRef } from 'react'
import { useSearch } from '#web/shared/scope/scope.ts'
import { type OpenForm, openFormSearch, readOpenForm } from './open-form.ts'
import type { OpenedForm } from './step-forms.tsx'

/** One form at a time. `list` is where the focus returns to when it closes. */
export function useOpenForm(list: RefObject<HTMLElement | null>) {
  const [search, update] = useSearch()
  const form = readOpenForm(search)
  const opened: OpenedForm = useRef(undefined)
  const before = useRef<OpenForm>(undefined)

  const show = (next: OpenForm) => update(openFormSearch(next), true)
  function open(next: OpenForm): void {
    if (opened.current) opened.current.leaveBy(() => show(next))
    else show(next)
  }

  useEffect(() => {
    if (!form && before.current) {
      const selector =
        before.current.kind === 'change' ? `[data-step="${before.current.id}"] [data-edit]` : '[data-add]'
      list.current?.querySelector<HTMLElement>(selector)?.focus()
    }
    before.current = form
  })

  return { form, opened, open, close: () => show(undefined) }
}
