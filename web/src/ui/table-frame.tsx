import { Paper } from '@mantine/core'
import { type ReactNode, useEffect, useRef, useState } from 'react'

/** Scrolls sideways where its table is too wide: then it can be focused, so that the arrow keys scroll it. */
export function TableFrame({ children }: { children: ReactNode }) {
  const frame = useRef<HTMLDivElement>(null)
  const [isScrollable, setScrollable] = useState(false)
  useEffect(() => {
    const element = frame.current
    if (!element) return
    const observer = new ResizeObserver(() => setScrollable(element.scrollWidth > element.clientWidth))
    for (const watched of [element, ...element.children]) observer.observe(watched)
    return () => observer.disconnect()
  }, [])
  return (
    <Paper ref={frame} withBorder className="table-frame" tabIndex={isScrollable ? 0 : undefined}>
      {children}
    </Paper>
  )
}
