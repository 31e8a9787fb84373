import { Button, Group, TextInput } from '@mantine/core'
import { useClipboard } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Step } from '#web/base/api/types.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { CopyButton } from '#web/base/ui/parts.tsx'
import { stripColors } from './ansi.ts'
import classes from './log.module.css'
import { LogLine } from './log-line.tsx'
import { type LineRange, rangeLabel } from './log-link.ts'
import { useKeepInView } from './use-keep-in-view.ts'
import { useMarkedLines } from './use-marked-lines.ts'
import type { StepLogState } from './use-step-log.ts'

const LINE_HEIGHT = 20

type LogViewProps = {
  log: StepLogState
  step: Step
  name: string
  /** Of the download. */
  fileName: string
  /** The lines that the URL links to. */
  marked: LineRange | undefined
  mark(range: LineRange | undefined): void
  /** The hash of the URL that links to these lines. */
  hashOf(range: LineRange): string
}

export function LogView({ log, step, name, fileName, marked, mark, hashOf }: LogViewProps) {
  const { lines, version } = log
  const isRunning = step.status === 'in-progress'
  const frame = useRef<HTMLDivElement>(null)
  const [isFollowing, setFollowing] = useState(marked === undefined)
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
  const noOutput = count === 0 ? 'The log is empty.' : undefined
  const { tabStop, ...lineEvents } = useMarkedLines({ marked, mark, count, frame, rows })

  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that there is more to follow
  useEffect(() => {
    if (isFollowing && isRunning && count > 0) rows.scrollToIndex(count - 1, { align: 'end' })
  }, [count, version, isFollowing, isRunning])

  useKeepInView(frame, isFollowing && isRunning)

  // What is searched for comes into view while it is typed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each text; lines that are printed later do not move it
  useEffect(() => {
    if (searched === '' || matches.length === 0) return
    setFollowing(false)
    rows.scrollToIndex(matches[0]!, { align: 'center' })
  }, [searched])

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
        <CopyButton size="xs" reason={noOutput} text={() => stripColors(lines.text())} />
        <ReasonedButton
          size="xs"
          variant="default"
          reason={noOutput}
          onClick={() => download(lines.text(), fileName)}
        >
          Download
        </ReasonedButton>
        {marked && !log.isLoading && (
          <MarkedLines range={marked} isPrinted={marked.from <= count} clear={() => mark(undefined)} />
        )}
      </Group>
      <section
        className={classes.frame}
        ref={frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={`Log of ${name}`}
        data-wraps={isWrapping}
        data-follows={(isFollowing && isRunning) || undefined}
        onClick={lineEvents.onClick}
        onKeyDown={lineEvents.onKeyDown}
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
                data-marked={isMarked(marked, item.index + 1) ? '' : undefined}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogLine
                  number={item.index + 1}
                  href={hashOf({ from: item.index + 1, to: item.index + 1 })}
                  isTabStop={tabStop === item.index + 1}
                  {...lines.line(item.index)}
                  query={searched}
                />
              </div>
            ))}
          </div>
        )}
      </section>
    </div>
  )
}

function isMarked(range: LineRange | undefined, line: number): boolean {
  return range !== undefined && range.from <= line && line <= range.to
}

type MarkedLinesProps = { range: LineRange; isPrinted: boolean; clear(): void }

/** Which lines the URL links to. Without a clipboard the address bar has the link. */
function MarkedLines({ range, isPrinted, clear }: MarkedLinesProps) {
  const { copy, copied } = useClipboard()
  return (
    <Group gap="xs" role="status" className={classes.marks}>
      <span>
        {rangeLabel(range)}
        {!isPrinted && <span className="dimmed"> not printed</span>}
      </span>
      {navigator.clipboard && (
        <Button size="xs" variant="light" onClick={() => copy(window.location.href)}>
          {copied ? 'Link copied' : 'Copy link'}
        </Button>
      )}
      <Button size="xs" variant="subtle" onClick={clear}>
        Unmark
      </Button>
    </Group>
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
