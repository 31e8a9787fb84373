// What surrounds every page: navigation, scope switcher, color scheme, session, and whether the service is reachable.
import { ActionIcon, Button, Group, useMantineColorScheme } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useIsReachable } from '../api/connection.ts'
import { queryKeys } from '../api/queries.ts'
import { useRefetchOnActionEvents, useServices } from '../api/services.ts'
import { useCarriedScope } from '../scope/scope.ts'
import { ScopeSwitcher } from '../scope/scope-switcher.tsx'
import { useSession } from '../session/session.ts'
import classes from './shell.module.css'

const PAGES = ['overview', 'actions', 'applications', 'servers', 'pipelines', 'hooks', 'members']
const REFETCH_INTERVAL_MS = 3_000

export function Shell({ children }: { children: ReactNode }) {
  useRefetchOnActionEvents(queryKeys.runningCount, REFETCH_INTERVAL_MS)
  const [location] = useLocation()
  const scope = useCarriedScope()
  const { user, signOut } = useSession()
  return (
    <>
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <ConnectionBanner />
      <header className={classes.header}>
        <div className={classes.bar}>
          <Link href={`/overview${scope}`} className={classes.brand}>
            Gantry
          </Link>
          <nav className={classes.navigation} aria-label="Pages">
            {PAGES.map((page) => (
              <Link
                key={page}
                href={`/${page}${scope}`}
                aria-current={location.split('/')[1] === page ? 'page' : undefined}
              >
                {page}
              </Link>
            ))}
          </nav>
          <Group gap="xs" wrap="nowrap">
            <Link
              href="/account"
              className={classes.account}
              aria-current={location === '/account' ? 'page' : undefined}
              title={`Signed in as ${user.email}`}
            >
              Account
            </Link>
            <ColorSchemeButton />
            <Button variant="default" size="xs" onClick={() => void signOut()}>
              Sign out
            </Button>
          </Group>
        </div>
        <ScopeSwitcher />
      </header>
      <main id="content" className={classes.content} tabIndex={-1}>
        {children}
      </main>
    </>
  )
}

export function ConnectionBanner() {
  const { connection } = useServices()
  if (useIsReachable(connection)) return null
  return (
    <div className={classes.banner} role="alert">
      Gantry is unreachable. This page may be out of date; it updates as soon as the connection is back.
    </div>
  )
}

const COLOR_SCHEMES = ['auto', 'light', 'dark'] as const
const ICONS = { auto: '◐', light: '☀', dark: '☾' }

function ColorSchemeButton() {
  // Suspending transitions would inject a style element, which the content security policy blocks.
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true })
  const next = COLOR_SCHEMES[(COLOR_SCHEMES.indexOf(colorScheme) + 1) % COLOR_SCHEMES.length]!
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={() => setColorScheme(next)}
      aria-label={`Color scheme: ${colorScheme}. Switch to ${next}`}
      title={`Color scheme: ${colorScheme}`}
    >
      <span aria-hidden="true">{ICONS[colorScheme]}</span>
    </ActionIcon>
  )
}
