import { Loader } from '@mantine/core'
import classes from './shell.module.css'

export function Loading({ what }: { what: string }) {
  return (
    <div className={classes.centre} role="status">
      <Loader size="sm" aria-hidden="true" />
      <span>Loading {what}…</span>
    </div>
  )
}
