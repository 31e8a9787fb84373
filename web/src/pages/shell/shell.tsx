// What surrounds every page: the sidebar or, where there is no room for it, a bar that opens it as a drawer; the
// palette; and whether the service is reachable.
import { Burger } from '@mantine/core'
import { useDisclosure, useHotkeys, useMediaQuery } from '@mantine/hooks'
import { Search } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { queryKeys, useRefetchOnActionEvents } from '#web/base/api/queries.ts'
import { usePermissions } from '#web/base/session/permissions.ts'
import { ConnectionBanner } from '#web/base/ui/connection-banner.tsx'
import { IconButton } from '#web/base/ui/controls.tsx'
import { useFreezes } from '#web/resources/gates/freezes.ts'
import { PageScopeContext } from '#web/shared/scope/page-scope.ts'
import { type Scope, scopeSearch, useCarriedScope } from '#web/shared/scope/scope.ts'
import classes from './shell.module.css'
import { Brand, Sidebar } from './sidebar.tsx'
import { useFocusOnNavigation } from './use-focus-on-navigation.ts'

const importPalette = () => import('./palette.tsx')
const Palette = lazy(importPalette)
const NavigationDrawer = lazy(() => import('./navigation-drawer.tsx'))
const FreezeBanner = lazy(() => import('#web/resources/gates/freeze-banner.tsx'))
/** People type right after the key: by then it should be there. Not before the first page has loaded. */
const PALETTE_PRELOAD_MS = 5_000

const REFETCH_INTERVAL_MS = 3_000
/** People take longer to decide. */
const WAITING_INTERVAL_MS = 10_000

export function Shell({ children }: { children: ReactNode }) {
  useRefetchOnActionEvents(queryKeys.runningCount, REFETCH_INTERVAL_MS)
  useRefetchOnActionEvents(queryKeys.waitingForYou, WAITING_INTERVAL_MS)
  // What is live: pages that are not open are loaded again when they are.
  useRefetchOnActionEvents(queryKeys.application(), REFETCH_INTERVAL_MS)
  useRefetchOnActionEvents(queryKeys.serverReleases(), REFETCH_INTERVAL_MS)
  // Loaded before a page needs them: its buttons are usable as soon as they appear.
  usePermissions()
  const [location] = useLocation()
  useFocusOnNavigation(location)
  const scope = useCarriedScope()
  const pageScope = useState<Scope>()
  const isWide = useMediaQuery('(min-width: 62em)', true, { getInitialValueInEffect: false })
  const [isDrawerOpen, drawer] = useDisclosure()
  const [wasDrawerOpen, setDrawerOpen] = useState(false)
  if (isDrawerOpen && !wasDrawerOpen) setDrawerOpen(true)
  const [isPaletteOpen, palette] = useDisclosure()
  // Also while typing: the palette is the way out of a form.
  useHotkeys([['mod+K', palette.toggle]], [], true)
  useEffect(() => {
    const timer = setTimeout(() => void importPalette().catch(() => {}), PALETTE_PRELOAD_MS)
    return () => clearTimeout(timer)
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page is why it closes
  useEffect(drawer.close, [location])

  const shownScope = pageScope[0] ?? scope
  const freezes = useFreezes(shownScope)

  function openPalette(): void {
    drawer.close()
    palette.open()
  }

  return (
    <PageScopeContext value={pageScope}>
      <a className={classes.skip} href="#content">
        Skip to content
      </a>
      <div className={classes.frame}>
        {isWide ? (
          <aside className={classes.side} aria-label="Sidebar">
            <Sidebar scope={scope} openPalette={openPalette} />
          </aside>
        ) : (
          <header className={classes.bar}>
            <Burger
              size="sm"
              opened={isDrawerOpen}
              onClick={drawer.toggle}
              aria-label="Navigation"
              aria-expanded={isDrawerOpen}
            />
            <Brand scope={scopeSearch(scope)} />
            <IconButton label="Search" icon={Search} size="lg" onClick={openPalette} />
          </header>
        )}
        <div className={classes.page}>
          <ConnectionBanner />
          {freezes.length > 0 && (
            <Suspense fallback={null}>
              <FreezeBanner freezes={freezes} scope={shownScope} />
            </Suspense>
          )}
          <main id="content" className={classes.content} tabIndex={-1}>
            {children}
          </main>
        </div>
      </div>
      {!isWide && wasDrawerOpen && (
        <Suspense fallback={null}>
          <NavigationDrawer isOpen={isDrawerOpen} close={drawer.close}>
            <Sidebar scope={scope} openPalette={openPalette} />
          </NavigationDrawer>
        </Suspense>
      )}
      {isPaletteOpen && (
        <Suspense fallback={null}>
          <Palette scope={scope} close={palette.close} />
        </Suspense>
      )}
    </PageScopeContext>
  )
}
