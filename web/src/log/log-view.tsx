import { Button, TextInput } from '@mantine/core'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { CopyButton } from '../shell/copy-button.tsx'
import { withoutColours } from './ansi.ts'
import classes from './log.module.css'
import { LogLine } from './log-line.tsx'
import type { StepLogState } from './use-step-log.ts'

const LINE_HEIGHT = 20

/** `fileName`: what its file is called once it is downloaded. */
type LogViewProps = { log: StepLogState; isRunning: boolean; name: string; fileName: string }

export function LogView({ log, isRunning, name, fileName }: LogViewProps) {
  const { lines, version } = log
  const frame = useRef<HTMLDivElement>(null)
  const [follows, setFollows] = useState(true)
  const [wraps, setWraps] = useState(true)
  const [words, setWords] = useState('')
  const [chosen, setChosen] = useState(0)
  const sought = useDeferredValue(words)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines grow in place; `version` says when
  const found = useMemo(() => lines.find(sought), [lines, version, sought])
  const count = lines.count()
  const rows = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => LINE_HEIGHT,
    overscan: 30,
  })

  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says that there is more to follow
  useEffect(() => {
    if (follows && isRunning && count > 0) rows.scrollToIndex(count - 1, { align: 'end' })
  }, [count, version, follows, isRunning])

  function go(by: number): void {
    if (found.length === 0) return
    const next = (chosen + by + found.length) % found.length
    setChosen(next)
    setFollows(false)
    rows.scrollToIndex(found[next]!, { align: 'center' })
  }

  return (
    <div>
      <div className={classes.tools}>
        <TextInput
          size="xs"
          aria-label="Search the log"
          placeholder="Search"
          value={words}
          onChange={(event) => {
            setWords(event.currentTarget.value)
            setChosen(0)
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter') go(event.shiftKey ? -1 : 1)
          }}
        />
        {words !== '' && (
          <span className={classes.found} role="status">
            {found.length === 0
              ? 'nothing found'
              : `${Math.min(chosen + 1, found.length)} of ${found.length}`}
          </span>
        )}
        <Toggle on={wraps} set={setWraps} name="Wrap" />
        {isRunning && <Toggle on={follows} set={setFollows} name="Follow" />}
        <CopyButton size="xs" disabled={count === 0} text={() => withoutColours(lines.whole())} />
        <Button
          size="xs"
          variant="default"
          disabled={count === 0}
          onClick={() => download(lines.whole(), fileName)}
        >
          Download
        </Button>
      </div>
      <section
        className={classes.frame}
        ref={frame}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={`Log of ${name}`}
        data-wraps={wraps}
        onWheel={(event) => {
          if (event.deltaY < 0) setFollows(false)
        }}
      >
        {log.fault !== undefined ? (
          <p className={classes.empty}>{log.fault}</p>
        ) : count === 0 ? (
          <p className={classes.empty}>{emptyWords(log, isRunning)}</p>
        ) : (
          <div className={classes.all} style={{ height: rows.getTotalSize() }}>
            {rows.getVirtualItems().map((item) => (
              <div
                key={item.key}
                ref={wraps ? rows.measureElement : undefined}
                data-index={item.index}
                className={classes.line}
                data-found={found.length > 0 && found[chosen] === item.index ? '' : undefined}
                style={{ transform: `translateY(${item.start}px)` }}
              >
                <LogLine number={item.index + 1} {...lines.line(item.index)} words={sought} />
              </div>
            ))}
          </div>
        )}
      </section>
    </div>
  )
}

function emptyWords({ isReading }: StepLogState, isRunning: boolean): string {
  if (isReading) return 'Reading…'
  return isRunning ? 'Nothing printed so far.' : 'This step printed nothing.'
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
