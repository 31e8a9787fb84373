// Marked lines of a log: which ones the URL names, how clicks and keys change them, and the scrolling to them.
import type { Virtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type MouseEvent, type RefObject, useEffect, useRef, useState } from 'react'
import { type LineRange, markLine } from './log-link.ts'

type MarkedLines = {
  marked: LineRange | undefined
  mark(range: LineRange | undefined): void
  count: number
  frame: RefObject<HTMLElement | null>
  rows: Virtualizer<HTMLDivElement, Element>
}

export function useMarkedLines({ marked, mark, count, frame, rows }: MarkedLines) {
  /** The range that needs no scrolling: scrolled to before, or just clicked. */
  const seen = useRef<string>(undefined)
  const [active, setActive] = useState<number>()
  const key = marked && `${marked.from}-${marked.to}`

  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each range, as soon as its first line is there
  useEffect(() => {
    if (!marked || count < marked.from || seen.current === key) return
    seen.current = key
    rows.scrollToIndex(marked.from - 1, { align: 'center' })
    frame.current?.scrollIntoView({ block: 'center' })
  }, [key, count])

  function toggle(line: number, isExtending: boolean): void {
    const range = markLine(marked, line, isExtending)
    seen.current = range && `${range.from}-${range.to}`
    setActive(line)
    mark(range)
  }

  const lineOf = (event: { target: EventTarget }) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-line]') : null
    return link ? Number(link.dataset.line) : undefined
  }

  function focusLine(line: number): void {
    if (line < 1 || line > count) return
    setActive(line)
    rows.scrollToIndex(line - 1)
    frame.current?.querySelector<HTMLElement>(`[data-line="${line}"]`)?.focus()
  }

  const rendered = rows.getVirtualItems()
  const isRendered = (line: number | undefined) =>
    line !== undefined && rendered.some(({ index }) => index === line - 1)
  const preferred = [active, marked?.from].find(isRendered)
  return {
    /** One line is in the tab order; the arrow keys move from there. */
    tabStop: preferred ?? (rows.range?.startIndex ?? 0) + 1,
    onClick(event: MouseEvent): void {
      const line = lineOf(event)
      if (line === undefined || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      toggle(line, event.shiftKey)
    },
    onKeyDown(event: KeyboardEvent): void {
      const line = lineOf(event)
      if (line === undefined) return
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
      if (by !== undefined) focusLine(line + by)
      else if (event.key === 'Enter' && event.shiftKey) toggle(line, true)
      else return
      event.preventDefault()
    },
  }
}
