import { CopyButton } from '../shell/copy-button.tsx'
import { curlCommand } from './curl.ts'
import classes from './hooks.module.css'

/** A command for the shell, ready to be copied; the token stays in a variable of the shell. */
export function Command({ method, path, body }: { method: string; path: string; body?: unknown }) {
  const command = curlCommand({ base: window.location.origin, method, path, body })
  return (
    <div className={classes.command}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{command}</pre>
      <CopyButton size="compact-xs" text={() => command} />
    </div>
  )
}
