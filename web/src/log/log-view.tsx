import { Button, Group, TextInput } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Step } from '../api/types.ts'
import { CopyButton } from '../ui/parts.tsx'
import { parseLine, type Span, type Style, stripColors } from './ansi.ts'
import classes from './log.module.css'
import type { StepLogState } from './use-step-log.ts'

const LINE_HEIGHT = 20

/** `fileName`: of the download. */
type LogViewProps = { log: StepLogState; step: Step; name: string; fileName: string }

export function LogView({ log, step, name, fileName }: LogViewProps) {
  const { lines, version } = log
  const isRunning = step.status === 'in-progress'
  const frame = useRef<HTMLDivElement>(null)
  const [isFollowing, setFollowing] = useState(true)
  const [isWrapping, setWrapping] = useState(true)
  const [query, setQuery] = useState('')
  const [current, setCurrent] = useState(0)
  const searched = useDeferredValue(query)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines grow in place; `version` says when
  const matches = useMemo(() => lines.find(searched), [lines, version, searched])
  const count = lines.count()
  const rows = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 30,
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that there is more to follow
  useEffect(() => {
    if (isFollowing && isRunning && count > 0) rows.scrollToIndex(count - 1, { align: 'end' })
  }, [count, version, isFollowing, isRunning])

  function goToMatch(by: number): void {
    if (matches.length === 0) return
    const next = (current + by + matches.length) % matches.length
    setCurrent(next)
    setFollowing(false)
    rows.scrollToIndex(matches[next]!, { align: 'center' })
  }

  return (
    <div>
      <Group gap="xs" mb="xs">
        <TextInput
          size="xs"
          aria-label="Search the log"
          placeholder="Search"
          value={query}
          onChange={(event) => {
            setQuery(event.currentTarget.value)
            setCurrent(0)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') goToMatch(event.shiftKey ? -1 : 1)
          }}
        />
        {query !== '' && (
          <span className="dimmed" role="status">
            {matches.length === 0
              ? 'no matches'
              : `${Math.min(current + 1, matches.length)} of ${matches.length}`}
          </span>
        )}
        <Toggle on={isWrapping} set={setWrapping} name="Wrap" />
        {isRunning && <Toggle on={isFollowing} set={setFollowing} name="Follow" />}
        <CopyButton size="xs" disabled={count === 0} text={() => stripColors(lines.text())} />
        <Button
          size="xs"
          variant="default"
          disabled={count === 0}
          onClick={() => download(lines.text(), fileName)}
        >
          Download
        </Button>
      </Group>
      <section
        className={classes.frame}
        ref={frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={`Log of ${name}`}
        data-wraps={isWrapping}
        onWheel={(event) => {
          if (event.deltaY < 0) setFollowing(false)
        }}
      >
        {log.error !== undefined || count === 0 ? (
          <p className={classes.empty}>{log.error ?? emptyText(log, step)}</p>
        ) : (
          <div className={classes.lines} style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map((item) => (
              <div
                key={item.key}
                ref={isWrapping ? rows.measureElement : undefined}
                data-index={item.index}
                className={classes.line}
                data-match={matches.length > 0 && matches[current] === item.index ? '' : undefined}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogLine number={item.index + 1} {...lines.line(item.index)} query={searched} />
              </div>
            ))}
          </div>
        )}
      </section>
    </div>
  )
}

function emptyText({ isLoading }: StepLogState, { status, started_at }: Step): string {
  if (isLoading) return 'Loading log…'
  if (started_at === null) return 'Not started'
  return status === 'in-progress' ? 'No output yet' : 'No output'
}

function Toggle({ on, set, name }: { on: boolean; set(on: boolean): void; name: string }) {
  return (
    <Button size="xs" variant={on ? 'light' : 'default'} aria-pressed={on} onClick={() => set(!on)}>
      {name}
    </Button>
  )
}

function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

type LogLineProps = { number: number; text: string; style: Style; query: string }

const LogLine = memo(function LogLine({ number, text, style, query }: LogLineProps) {
  return (
    <>
      <span className={classes.number} aria-hidden="true">
        {number}
      </span>
      <span className={classes.text}>
        {parseLine(text, style).spans.map((span, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: spans have no identity but their position
          <LogSpan key={index} span={span} query={query} />
        ))}
      </span>
    </>
  )
})

function LogSpan({ span, query }: { span: Span; query: string }) {
  const text = query === '' ? span.text : highlight(span.text, query)
  const { foreground, background, ...flags } = span.style
  if (Object.keys(span.style).length === 0) return text
  return (
    <span
      className={Object.keys(flags)
        .map((flag) => classes[flag])
        .join(' ')}
      style={{ color: cssColor(foreground), background: cssColor(background) }}
    >
      {text}
    </span>
  )
}

function cssColor(color: number | string | undefined): string | undefined {
  return typeof color === 'number' ? `var(--terminal-${color})` : color
}

function highlight(text: string, query: string) {
  const parts = []
  const lower = text.toLowerCase()
  const wanted = query.toLowerCase()
  let from = 0
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + wanted.length)}</mark>)
    from = at + wanted.length
  }
  return [...parts, text.slice(from)]
}
