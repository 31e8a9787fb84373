// Where people can go: the sidebar and the palette show the same items.
import {
  Activity,
  AppWindow,
  CircleUserRound,
  KeyRound,
  LayoutDashboard,
  type LucideIcon,
  ScrollText,
  Server,
  Settings,
  ShieldCheck,
  Users,
  Webhook,
  Workflow,
} from 'lucide-react'

export type NavItem = { path: string; label: string; icon: LucideIcon }

export const SCOPED_ITEMS: NavItem[] = [
  { path: '/overview', label: 'Overview', icon: LayoutDashboard },
  { path: '/actions', label: 'Actions', icon: Activity },
  { path: '/applications', label: 'Applications', icon: AppWindow },
  { path: '/servers', label: 'Servers', icon: Server },
  { path: '/pipelines', label: 'Pipelines', icon: Workflow },
  { path: '/hooks', label: 'Hooks', icon: Webhook },
]

export const ORGANIZATION_ITEMS: NavItem[] = [
  { path: '/credentials', label: 'Credentials', icon: KeyRound },
  { path: '/members', label: 'Members', icon: Users },
  { path: '/settings', label: 'Settings', icon: Settings },
  { path: '/audit', label: 'Audit', icon: ScrollText },
]

export const INSTANCE_ITEMS: NavItem[] = [{ path: '/users', label: 'Users', icon: ShieldCheck }]

export const ACCOUNT: NavItem = { path: '/account', label: 'Account', icon: CircleUserRound }
