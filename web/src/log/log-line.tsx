import { memo } from 'react'
import { type Piece, readLine, type Style } from './ansi.ts'
import classes from './log.module.css'

type LogLineProps = { number: number; text: string; style: Style; words: string }

export const LogLine = memo(function LogLine({ number, text, style, words }: LogLineProps) {
  const { pieces } = readLine(text, style)
  return (
    <>
      <span className={classes.number} aria-hidden="true">
        {number}
      </span>
      <span className={classes.text}>
        {pieces.map((piece, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces have no other name than their place
          <PieceOfLine key={index} piece={piece} words={words} />
        ))}
      </span>
    </>
  )
})

function PieceOfLine({ piece, words }: { piece: Piece; words: string }) {
  const text = words === '' ? piece.text : marked(piece.text, words)
  if (Object.keys(piece.style).length === 0) return text
  const { foreground, background, ...rest } = piece.style
  return (
    <span
      className={Object.keys(rest)
        .map((name) => classes[name])
        .join(' ')}
      style={{ color: colour(foreground), background: colour(background) }}
    >
      {text}
    </span>
  )
}

function colour(value: number | string | undefined): string | undefined {
  return typeof value === 'number' ? `var(--terminal-${value})` : value
}

function marked(text: string, words: string) {
  const parts = []
  const lower = text.toLowerCase()
  const wanted = words.toLowerCase()
  let from = 0
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + wanted.length)}</mark>)
    from = at + wanted.length
  }
  return [...parts, text.slice(from)]
}
