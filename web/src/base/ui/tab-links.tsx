import { Link } from 'wouter'
import classes from './tab-links.module.css'

type TabLinksProps = {
  /** What the pages are about, for screen readers. */
  label: string
  tabs: readonly { href: string; text: string; isCurrent: boolean }[]
}

/** Pages about one object, each with its own URL. */
export function TabLinks({ label, tabs }: TabLinksProps) {
  return (
    <nav className={classes.tabs} aria-label={label}>
      {tabs.map(({ href, text, isCurrent }) => (
        <Link key={href} href={href} aria-current={isCurrent ? 'page' : undefined}>
          {text}
        </Link>
      ))}
    </nav>
  )
}
