import { useIsReachable } from '#web/base/api/connection.ts'
import { useServices } from '#web/base/api/services.ts'
import classes from './connection-banner.module.css'

export function ConnectionBanner() {
  const { connection } = useServices()
  if (useIsReachable(connection)) return null
  return (
    <div className={classes.banner} role="alert">
      Gantry is unreachable. This page may be out of date; it updates as soon as the connection is back.
    </div>
  )
}
