import { ActionIcon, Button, useMantineColorScheme } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useIsAway } from '../api/connection.ts'
import { useServices } from '../api/services.ts'
import { useSession } from '../session/session.ts'
import { ConnectionBanner } from './connection-banner.tsx'
import { PlaceSwitcher } from './place-switcher.tsx'
import { useRunningCountUpdates } from './running-count.ts'
import classes from './shell.module.css'
import { useCarriedPlace } from './use-place.ts'

const PAGES = [
  ['/overview', 'Overview'],
  ['/actions', 'Actions'],
  ['/pipelines', 'Pipelines'],
  ['/hooks', 'Hooks'],
  ['/members', 'Members'],
] as const

export function Shell({ children }: { children: ReactNode }) {
  const { connection } = useServices()
  const isAway = useIsAway(connection)
  useRunningCountUpdates()
  const place = useCarriedPlace()
  return (
    <>
      <a className={classes.skip} href="#content">
        Skip to the content
      </a>
      {isAway && <ConnectionBanner />}
      <header className={classes.header}>
        <div className={classes.bar}>
          <Link href={`/overview${place}`} className={classes.brand}>
            Gantry
          </Link>
          <Navigation place={place} />
          <div className={classes.tools}>
            <ColourSwitch />
            <SignOut />
          </div>
        </div>
        <PlaceSwitcher />
      </header>
      <main id="content" className={classes.content} tabIndex={-1}>
        {children}
      </main>
    </>
  )
}

function Navigation({ place }: { place: string }) {
  const [location] = useLocation()
  return (
    <nav className={classes.navigation} aria-label="Pages">
      {PAGES.map(([path, name]) => {
        const isHere = location === path || location.startsWith(`${path}/`)
        return (
          <Link key={path} href={`${path}${place}`} aria-current={isHere ? 'page' : undefined}>
            {name}
          </Link>
        )
      })}
    </nav>
  )
}

function ColourSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const order = ['auto', 'light', 'dark'] as const
  const next = order[(order.indexOf(colorScheme) + 1) % order.length]!
  const sign = { auto: '◐', light: '☀', dark: '☾' }[colorScheme]
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={() => setColorScheme(next)}
      aria-label={`Colours: ${colorScheme}. Change to ${next}`}
      title={`Colours: ${colorScheme}`}
    >
      <span aria-hidden="true">{sign}</span>
    </ActionIcon>
  )
}

function SignOut() {
  const { user, signOut } = useSession()
  return (
    <Button variant="default" size="xs" onClick={() => void signOut()} title={`Signed in as ${user.email}`}>
      Sign out
    </Button>
  )
}
