import { Title } from '@mantine/core'
import { Link } from 'wouter'
import { PageTitle } from './page-title.tsx'
import classes from './shell.module.css'

/** The same for what is not there and for what is not theirs to see: the API does not tell the two apart either. */
export function NotFound({ what }: { what: string }) {
  return (
    <div className={classes.notFound}>
      <PageTitle title="Not found" />
      <Title order={1} size="h2">
        There is no such {what} here
      </Title>
      <p>
        It may have been removed, it may be in an organization that you are not a member of, or the address
        has a slip in it.
      </p>
      <p>
        <Link href="/actions">All actions</Link> · <Link href="/overview">Overview</Link>
      </p>
    </div>
  )
}
