// One line of a log: its number, which links to it, and its text in the colors that it was printed in.
import { memo } from 'react'
import { parseLine, type Span, type Style } from './ansi.ts'
import classes from './log.module.css'

type LogLineProps = {
  number: number
  /** Of the URL that marks this line; a click is handled by the view. */
  href: string
  isTabStop: boolean
  text: string
  style: Style
  query: string
}

export const LogLine = memo(function LogLine({ number, href, isTabStop, text, style, query }: LogLineProps) {
  return (
    <>
      <a
        className={classes.number}
        href={href}
        data-line={number}
        tabIndex={isTabStop ? 0 : -1}
        aria-label={`Line ${number}`}
      >
        {number}
      </a>
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
