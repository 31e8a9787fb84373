import classes from './shell.module.css'

export function ConnectionBanner() {
  return (
    <div className={classes.banner} role="alert">
      Gantry cannot be reached. What you see may be old; the page goes on by itself as soon as it is back.
    </div>
  )
}
