import {
  Activity,
  AppWindow,
  ArrowRight,
  Building2,
  FolderClosed,
  KeyRound,
  Layers,
  LogOut,
  type LucideIcon,
  Play,
  Plus,
  Send,
  Server,
  SunMoon,
  Undo2,
  Webhook,
  Workflow,
} from 'lucide-react'
import { useEffect, useRef } from 'react'
import classes from './palette.module.css'
import type { Icon, Item } from './palette-items.ts'

const ICONS: Record<Icon, LucideIcon> = {
  organization: Building2,
  project: FolderClosed,
  environment: Layers,
  application: AppWindow,
  server: Server,
  pipeline: Workflow,
  incoming_hook: Webhook,
  outgoing_hook: Send,
  credential: KeyRound,
  action: Activity,
  add: Plus,
  go: ArrowRight,
  run: Play,
  'roll-back': Undo2,
  'color-scheme': SunMoon,
  'sign-out': LogOut,
}

const TYPES: Partial<Record<Icon, string>> = {
  organization: 'Organization',
  project: 'Project',
  environment: 'Environment',
  application: 'Application',
  server: 'Server',
  pipeline: 'Pipeline',
  incoming_hook: 'Incoming hook',
  outgoing_hook: 'Outgoing hook',
  credential: 'Credential',
}

type PaletteOptionProps = { id: string; item: Item; isActive: boolean; activate(): void; pick(): void }

export function PaletteOption({ id, item, isActive, activate, pick }: PaletteOptionProps) {
  const option = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (isActive) option.current?.scrollIntoView({ block: 'nearest' })
  }, [isActive])
  const Icon = ICONS[item.icon] ?? ArrowRight
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and handles every key
    // biome-ignore lint/a11y/useFocusableInteractive: the input has the focus
    <div
      ref={option}
      id={id}
      role="option"
      aria-selected={isActive}
      className={classes.option}
      onMouseMove={activate}
      onMouseDown={(event) => event.preventDefault()}
      onClick={pick}
    >
      <Icon size={16} strokeWidth={1.75} aria-hidden="true" />
      <span className={classes.text}>
        <span className={classes.label} dir="auto">
          {item.label}
        </span>
        {item.detail && <span className={classes.detail}>{item.detail}</span>}
      </span>
      <span className={classes.type}>{TYPES[item.icon]}</span>
    </div>
  )
}
