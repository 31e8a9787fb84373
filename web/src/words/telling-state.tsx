import { useSeconds } from './now.ts'
import classes from './status.module.css'
import { formatDuration } from './time.ts'

const STATES = {
  told: { status: 'completed', sign: '✓', words: 'Told' },
  trying: { status: 'in-progress', sign: '↻', words: 'Trying' },
  'not-told': { status: 'failed', sign: '✕', words: 'Not told' },
  superseded: { status: 'skipped', sign: '⤼', words: 'Dropped' },
  called: { status: 'queued', sign: '→', words: 'Called' },
} as const

export function StateBadge({ state }: { state: keyof typeof STATES }) {
  const { status, sign, words } = STATES[state]
  return (
    <span className={classes.badge} data-status={status}>
      <span className={classes.sign} aria-hidden="true">
        {sign}
      </span>
      {words}
    </span>
  )
}

export function NextTry({ at }: { at: string }) {
  const now = useSeconds(true)
  const left = Date.parse(at) - now
  return <div>{left > 0 ? `Next attempt in ${formatDuration(left)}.` : 'The next attempt is due now.'}</div>
}
