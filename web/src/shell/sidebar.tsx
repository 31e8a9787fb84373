import { Kbd, UnstyledButton } from '@mantine/core'
import { Search } from 'lucide-react'
import { Link } from 'wouter'
import { type Scope, scopeSearch } from '../scope/scope.ts'
import { ScopeSwitcher } from '../scope/scope-switcher.tsx'
import { AccountMenu } from './account-menu.tsx'
import { Logo } from './logo.tsx'
import { Navigation } from './navigation.tsx'
import classes from './sidebar.module.css'

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
