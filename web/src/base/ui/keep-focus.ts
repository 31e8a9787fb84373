/**
 * As the `ref` of something in a dialog: the dialog keeps the focus for as long as it is open. A dialog that opens below it
 * meanwhile would take it, and with it what the person types.
 */
export function keepFocus(element: HTMLElement | null): (() => void) | undefined {
  const dialog = element?.closest<HTMLElement>('[role="dialog"]')
  if (!dialog) return
  let last: HTMLElement | undefined
  const onFocus = ({ target }: FocusEvent) => {
    if (!(target instanceof HTMLElement)) return
    if (dialog.contains(target)) last = target
    else (last?.isConnected ? last : dialog).focus({ preventScroll: true })
  }
  document.addEventListener('focusin', onFocus)
  return () => document.removeEventListener('focusin', onFocus)
}
