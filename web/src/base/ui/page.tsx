// The frame of a page: its heading and tab title, and what it shows while data loads or when it fails to load.
import { Alert, Button, Group, Paper, Skeleton, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { BookOpen, type LucideIcon } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { GantryError, UnreachableError } from '#client/index.ts'
import { type QueryState, queryKeys, usePage } from '#web/base/api/queries.ts'
import { setFavicon } from './favicon.ts'
import { guideFor } from './guides.ts'
import { ICON } from './icon.ts'
import classes from './page.module.css'
import { STATUS_ICONS, type Status } from './status.ts'

type LoadedProps<Data> = {
  query: QueryState<Data>
  /** The noun for messages: "pipeline". */
  what: string
  children(data: Data): ReactNode
}

/** Renders what a query loaded, or the state it is in. */
export function Loaded<Data>({ query: { data, error, refetch }, what, children }: LoadedProps<Data>) {
  if (data !== undefined) return children(data)
  if (!error || error instanceof UnreachableError) return <Loading what={what} />
  const status = error instanceof GantryError ? error.status : 0
  // The sign-in dialog is open: the data follows.
  if (status === 401) return <Loading what={what} />
  // A malformed id is a 422; only the list of actions takes filters from the URL that people can correct.
  if (status === 404 || (status === 422 && what !== 'actions')) return <NotFound what={what} />
  // Nothing went wrong, and trying again would not help.
  if (status === 403)
    return (
      <Text size="sm" className="dimmed">
        {error.message}
      </Text>
    )
  return (
    <ErrorAlert error={error} title={`Failed to load ${what}`}>
      <Button size="xs" variant="default" mt="xs" onClick={() => void refetch()}>
        Try again
      </Button>
    </ErrorAlert>
  )
}

/** Of text that is not there yet. */
const LINES = ['40%', '90%', '75%', '60%']

export function Loading({ what }: { what: string }) {
  return (
    <div role="status">
      <VisuallyHidden>Loading {what}…</VisuallyHidden>
      <Stack gap="sm" mih="8rem" pt="xs" aria-hidden="true">
        {LINES.map((width) => (
          <Skeleton key={width} height="1rem" width={width} />
        ))}
      </Stack>
    </div>
  )
}

type ErrorAlertProps = { error: Error; title?: string; children?: ReactNode }

/** An error with what the API says about each field. */
export function ErrorAlert({ error, title, children }: ErrorAlertProps) {
  return (
    <Alert color="red" title={title} role="alert">
      {hasEnded(error) ? 'Your session had ended. Try again once you are signed in.' : error.message}
      {error instanceof GantryError &&
        Object.entries(error.errors).map(([field, problems]) => (
          <div key={field}>
            <code>{field}</code> {problems.join('; ')}
          </div>
        ))}
      {children}
    </Alert>
  )
}

/** What the API says then is about tokens. */
function hasEnded(error: Error): boolean {
  return error instanceof GantryError && error.status === 401
}

/** The same for what does not exist and what the person may not see: the API does not tell the two apart either. */
export function NotFound({ what }: { what: string }) {
  return (
    <Stack maw="36rem">
      <PageTitle title="Not found" />
      <Title order={1} size="h2">
        This {what} does not exist
      </Title>
      <Text>
        It may have been deleted, it may belong to an organization that you cannot access, or the URL may be
        wrong.
      </Text>
      <Text>
        <Link href="/actions">All actions</Link> · <Link href="/overview">Overview</Link>
      </Text>
    </Stack>
  )
}

/** Names may have 255 characters. */
const LONG_TITLE = 60

type PageHeaderProps = { title: string; status?: Status; badge?: ReactNode; children?: ReactNode }

/** `children` are the page's actions, on the right. */
export function PageHeader({ title, status, badge, children }: PageHeaderProps) {
  return (
    <header className={classes.header}>
      <PageTitle title={title} status={status} />
      <div className={classes.title}>
        <Title order={1} size={title.length > LONG_TITLE ? 'h4' : 'h2'} className="wrap">
          {title}
        </Title>
        {badge}
        <GuideLink />
      </div>
      {children && (
        <Group gap="xs" mih="2.125rem">
          {children}
        </Group>
      )}
    </header>
  )
}

/** In another tab, so that a form that is being filled in stays as it is. */
function GuideLink() {
  const [location] = useLocation()
  const href = guideFor(location)
  if (href === undefined) return null
  return (
    <a className={classes.guide} href={href} target="_blank" rel="noreferrer">
      <BookOpen {...ICON} />
      Guide<VisuallyHidden> to this page, opens in a new tab</VisuallyHidden>
    </a>
  )
}

/** How many actions are in progress; the shell keeps it current. */
function useRunningCount(): number {
  const query = { 'filter[status]': 'in-progress', per_page: 1 }
  const { data } = usePage(queryKeys.runningCount, '/actions', { params: { query } })
  return Number.parseInt(data?.total ?? '0', 10) || 0
}

/** For people who wait in another tab: the status or, without one, whether anything is running. */
function PageTitle({ title, status }: { title: string; status?: Status | undefined }) {
  const running = useRunningCount()
  useEffect(() => {
    const prefix = status ? `${STATUS_ICONS[status]} ` : running > 0 ? `(${running}) ` : ''
    document.title = `${prefix}${title} · Gantry`
    setFavicon(status ?? (running > 0 ? 'in-progress' : 'idle'))
  }, [title, status, running])
  return null
}

type EmptyStateProps = {
  icon: LucideIcon
  title: string
  children?: ReactNode
  action?: ReactNode
  /** One of several lists on a page: a row rather than a box. */
  isCompact?: boolean
}

/** What a list says while nothing is in it, with the button that changes that. */
export function EmptyState({ icon: Icon, title, children, action, isCompact = false }: EmptyStateProps) {
  if (isCompact)
    return (
      <Paper withBorder px="md" py="xs">
        <Group justify="space-between" gap="xs" mih="2.125rem">
          <Text size="sm" className="dimmed" flex="1 1 16rem">
            {title}. {children}
          </Text>
          {action}
        </Group>
      </Paper>
    )
  return (
    <Paper withBorder p="xl">
      <Stack align="center" gap="xs">
        <Icon size={28} strokeWidth={1.5} aria-hidden="true" className="dimmed" />
        <Text fw={600}>{title}</Text>
        {children && (
          <Text size="sm" className="dimmed" ta="center" maw="32rem">
            {children}
          </Text>
        )}
        {action}
      </Stack>
    </Paper>
  )
}
