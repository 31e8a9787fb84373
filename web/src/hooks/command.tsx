import { Button } from '@mantine/core'
import { useState } from 'react'
import { curlCommand } from './curl.ts'
import classes from './hooks.module.css'

/** A command for the shell, ready to be copied; the token stays in a variable of the shell. */
export function Command({ method, path, body }: { method: string; path: string; body?: unknown }) {
  const [isCopied, setCopied] = useState(false)
  const command = curlCommand({ base: window.location.origin, method, path, body })
  const copy = async () => {
    await navigator.clipboard.writeText(command)
    setCopied(true)
  }
  return (
    <div className={classes.command}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre tabIndex={0}>{command}</pre>
      {navigator.clipboard && (
        <Button size="compact-xs" variant="default" onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </Button>
      )}
    </div>
  )
}
