import { type RefObject, useEffect } from 'react'

type ListKeys = { list: RefObject<HTMLElement | null>; focusFilter(): void }

/** j and k walk over the rows' links, which Enter then opens; / goes to the filters. */
export function useListKeys({ list, focusFilter }: ListKeys): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (event.key === '/') focusFilter()
      else if (event.key === 'j' || event.key === 'k') walk(list.current, event.key === 'j' ? 1 : -1)
      else return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
}

function walk(list: HTMLElement | null, by: 1 | -1): void {
  const links = [...(list?.querySelectorAll<HTMLAnchorElement>('a') ?? [])]
  const here = links.indexOf(document.activeElement as HTMLAnchorElement)
  const next = here === -1 ? (by === 1 ? 0 : links.length - 1) : here + by
  links[Math.min(Math.max(next, 0), links.length - 1)]?.focus()
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
}
