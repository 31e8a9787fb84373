import { Kbd, UnstyledButton, VisuallyHidden } from '@mantine/core'
import { ChevronsUpDown, Search } from 'lucide-react'
import { lazy, Suspense, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useSession } from '#web/base/session/session.ts'
import { ICON } from '#web/base/ui/icon.ts'
import { useWaitingForYou } from '#web/resources/gates/freezes.ts'
import { type Scope, scopeSearch } from '#web/shared/scope/scope.ts'
import { ScopeSwitcher } from '#web/shared/scope/scope-switcher.tsx'
import { initials } from './initials.ts'
import { INSTANCE_ITEMS, type NavItem, ORGANIZATION_ITEMS, SCOPED_ITEMS } from './nav-items.ts'
import classes from './sidebar.module.css'

const importAccountMenu = () => import('./account-menu.tsx')
const AccountMenuItems = lazy(importAccountMenu)

const IS_MAC = navigator.userAgent.includes('Mac')

type SidebarProps = { scope: Scope; openPalette(): void }

export function Sidebar({ scope, openPalette }: SidebarProps) {
  const carried = scopeSearch(scope)
  return (
    <div className={classes.sidebar}>
      <Brand scope={carried} />
      <UnstyledButton className={classes.search} onClick={openPalette} aria-keyshortcuts="Control+K Meta+K">
        <Search size={16} strokeWidth={1.75} aria-hidden="true" />
        <span>Search…</span>
        <Kbd size="xs">{IS_MAC ? '⌘ K' : 'Ctrl K'}</Kbd>
      </UnstyledButton>
      <ScopeSwitcher scope={scope} />
      <Navigation scope={carried} />
      <AccountMenu />
    </div>
  )
}

export function Brand({ scope }: { scope: string }) {
  return (
    <Link href={`/overview${scope}`} className={classes.brand}>
      <Logo />
      Gantry
    </Link>
  )
}

/** `scope` is the query that links carry. */
function Navigation({ scope }: { scope: string }) {
  const { isInstanceAdmin } = useSession()
  const waiting = useWaitingForYou()
  return (
    <nav aria-label="Pages" className={classes.navigation}>
      <NavGroup
        items={SCOPED_ITEMS}
        scope={scope}
        counts={{ '/overview': waiting ? { count: waiting, what: 'waiting for you' } : undefined }}
      />
      <NavGroup title="Organization" items={ORGANIZATION_ITEMS} scope={scope} />
      {isInstanceAdmin && <NavGroup title="Instance" items={INSTANCE_ITEMS} scope="" />}
    </nav>
  )
}

function Count({ of }: { of: { count: string; what: string } | undefined }) {
  if (!of) return null
  return (
    <span className={classes.count}>
      {of.count}
      <VisuallyHidden> {of.what}</VisuallyHidden>
    </span>
  )
}

type NavGroupProps = {
  title?: string
  items: NavItem[]
  scope: string
  /** By path: a number next to the label, and what it counts. */
  counts?: Record<string, { count: string; what: string } | undefined>
}

function NavGroup({ title, items, scope, counts = {} }: NavGroupProps) {
  const [location] = useLocation()
  const here = `/${location.split('/')[1]}`
  return (
    <>
      {title && (
        <div className={classes.group} id={`pages-${title}`}>
          {title}
        </div>
      )}
      <ul className="plain-list" aria-labelledby={title && `pages-${title}`}>
        {items.map(({ path, label, icon: Icon }) => (
          <li key={path}>
            <Link
              href={path + scope}
              className={classes.item}
              aria-current={here === path ? 'page' : undefined}
            >
              <Icon size={16} strokeWidth={1.75} aria-hidden="true" />
              {label}
              <Count of={counts[path]} />
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Who is signed in, and what is theirs alone. The menu is loaded when it is about to be opened. */
function AccountMenu() {
  const { user } = useSession()
  const button = useRef<HTMLButtonElement>(null)
  const wasOpen = useRef(false)
  const [isOpen, setOpen] = useState(false)
  return (
    <div className={classes.accountMenu}>
      <UnstyledButton
        ref={button}
        className={classes.account}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPointerEnter={() => void importAccountMenu().catch(() => {})}
        // Pressing it closes the menu, as pressing anything outside the menu does.
        onPointerDown={() => {
          wasOpen.current = isOpen
        }}
        onClick={() => {
          setOpen(!wasOpen.current)
          wasOpen.current = false
        }}
      >
        <VisuallyHidden>Account menu of </VisuallyHidden>
        <span className={classes.avatar} aria-hidden="true">
          {initials(user.name)}
        </span>
        <span className={classes.person}>
          <span>{user.name}</span>
          <span className="dimmed">{user.email}</span>
        </span>
        <ChevronsUpDown {...ICON} />
      </UnstyledButton>
      {isOpen && (
        <Suspense fallback={null}>
          <AccountMenuItems
            close={() => {
              setOpen(false)
              button.current?.focus({ preventScroll: true })
            }}
          />
        </Suspense>
      )}
    </div>
  )
}

/** A gantry crane with its load. */
function Logo({ size = 24 }: { size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#0b63b0" />
      <path
        d="M5 9.5h22M9 9.5v14.5M23 9.5v14.5M16 9.5v4.5"
        fill="none"
        stroke="#fff"
        strokeWidth="2.75"
        strokeLinecap="round"
      />
      <rect x="12.25" y="14" width="7.5" height="6.5" rx="1.5" fill="#fff" />
    </svg>
  )
}
