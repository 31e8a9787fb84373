// The frame of a page: its heading and tab title, and what it shows while data loads or when it fails to load.
import { Alert, Button, Center, Group, Loader, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { Link } from 'wouter'
import { GantryError, UnreachableError } from '#client/index.ts'
import { type QueryState, queryKeys } from '../api/queries.ts'
import { useApi } from '../api/services.ts'
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
  return (
    <ErrorAlert error={error} title={`Failed to load ${what}`}>
      <Button size="xs" variant="default" mt="xs" onClick={() => void refetch()}>
        Try again
      </Button>
    </ErrorAlert>
  )
}

export function Loading({ what }: { what: string }) {
  return (
    <Center mih="8rem" role="status" className="dimmed">
      <Loader size="sm" mr="sm" aria-hidden="true" />
      Loading {what}…
    </Center>
  )
}

type ErrorAlertProps = { error: Error; title?: string; children?: ReactNode }

/** An error with what the API says about each field. */
export function ErrorAlert({ error, title, children }: ErrorAlertProps) {
  return (
    <Alert color="red" title={title} role="alert">
      {error.message}
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

/** The same for what does not exist and what the person may not see: the API does not tell the two apart either. */
export function NotFound({ what }: { what: string }) {
  return (
    <Stack maw="36rem" mx="auto" my="xl">
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

type PageHeaderProps = { title: string; status?: Status; badge?: ReactNode; children?: ReactNode }

/** `children` are the page's actions, on the right. */
export function PageHeader({ title, status, badge, children }: PageHeaderProps) {
  return (
    <Group justify="space-between" gap="xs" mb="md">
      <PageTitle title={title} status={status} />
      <Group gap="sm">
        <Title order={1} size="h2" className="wrap">
          {title}
        </Title>
        {badge}
      </Group>
      {children}
    </Group>
  )
}

/** How many actions are in progress; the shell keeps it current. */
function useRunningCount(): number {
  const api = useApi()
  const { data } = useQuery({
    queryKey: queryKeys.runningCount,
    queryFn: async ({ signal }) => {
      const query = { 'filter[status]': 'in-progress', per_page: 1 }
      return Number.parseInt((await api.page('/actions', { params: { query }, signal })).total, 10) || 0
    },
  })
  return data ?? 0
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

function stroke(path: string): string {
  return `<path d="${path}" fill="none" stroke="#fff" stroke-width="4" stroke-linecap="round" stroke-linejoin="round"/>`
}

const IDLE = { color: '#6b6478', shape: stroke('M7 9h18M11 9v15M21 9v8') }
const FAVICONS: Record<string, typeof IDLE> = {
  'in-progress': { color: '#0b6cbd', shape: '<path d="M11 8l14 8-14 8z" fill="#fff"/>' },
  completed: { color: '#0b7a5b', shape: stroke('M8 17l5 5 11-12') },
  failed: { color: '#c24400', shape: stroke('M10 10l12 12M22 10L10 22') },
}

function setFavicon(state: string): void {
  const { color, shape } = FAVICONS[state] ?? IDLE
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="${color}"/>${shape}</svg>`
  const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]')
  if (link) link.href = `data:image/svg+xml,${encodeURIComponent(svg)}`
}
