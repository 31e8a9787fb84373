// Buttons and menus. Without the permission they stay visible, disabled and with the reason.
import {
  ActionIcon,
  type ActionIconProps,
  Button,
  type ButtonProps,
  Menu,
  type MenuItemProps,
  type MenuProps,
  Tooltip,
  VisuallyHidden,
} from '@mantine/core'
import { Ellipsis, type LucideIcon, Plus, Trash2 } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ICON } from './icon.ts'
import { focusMenuButton } from './use-return-focus.ts'

type Control = { icon?: LucideIcon; onClick(): void; children: ReactNode }
type Guard = Control & { permission: string; scope: PermissionScope | undefined }

/** Can still be focused, so that everybody finds out why. */
export function GuardedButton({ permission, scope, onClick, ...rest }: Guard & ButtonProps) {
  const { allowed, reason } = usePermission(permission, scope)
  return <ReasonedButton {...rest} reason={allowed ? undefined : reason} onClick={onClick} />
}

/** `reason`: why it cannot be used; undefined if it can. */
type ReasonedButtonProps = ButtonProps & Control & { reason: string | undefined }

export function ReasonedButton({ reason, icon: Icon, onClick, children, ...given }: ReasonedButtonProps) {
  const id = useId()
  const rest = { ...(Icon && { leftSection: <Icon {...ICON} /> }), ...given }
  if (reason === undefined)
    return (
      <Button {...rest} onClick={onClick}>
        {children}
      </Button>
    )
  return (
    <Tooltip label={reason} multiline maw="20rem" events={{ hover: true, focus: true, touch: true }}>
      <Button
        {...rest}
        data-disabled
        aria-disabled
        aria-describedby={id}
        onClick={(event) => event.preventDefault()}
      >
        {children}
        <VisuallyHidden id={id}>{reason}</VisuallyHidden>
      </Button>
    </Tooltip>
  )
}

export function GuardedMenuItem(props: Guard & MenuItemProps) {
  const { permission, scope, icon: Icon, onClick, children, ...given } = props
  const { allowed, reason } = usePermission(permission, scope)
  const rest = { ...(Icon && { leftSection: <Icon {...ICON} /> }), ...given }
  if (allowed)
    return (
      <Menu.Item {...rest} onClick={onClick}>
        {children}
      </Menu.Item>
    )
  return (
    <Menu.Item {...rest} data-disabled aria-disabled closeMenuOnClick={false}>
      {children}
      <div className="menu-reason">{reason}</div>
    </Menu.Item>
  )
}

type RemoveMenuItemProps = Omit<Guard, 'children'> & { children?: ReactNode }

/** The last item of its menu. A plain `color="red"` has too little contrast on white. */
export function RemoveMenuItem({ children = 'Remove', ...guard }: RemoveMenuItemProps) {
  return (
    <GuardedMenuItem {...guard} c="var(--mantine-color-error)" icon={Trash2}>
      {children}
    </GuardedMenuItem>
  )
}

/** A menu whose items may open dialogs. */
export function ActionMenu(props: MenuProps) {
  return (
    <Menu
      position="bottom-end"
      transitionProps={{ duration: 0 }}
      returnFocus={false}
      onClose={focusMenuButton}
      {...props}
    />
  )
}

type MoreMenuProps = {
  /** Where a page has several: "More actions for web-1". */
  label?: string
  isSmall?: boolean
  /** Its items. */
  children: ReactNode
}

/** What is done less often. */
export function MoreMenu({ label = 'More actions', isSmall = false, children }: MoreMenuProps) {
  return (
    <ActionMenu>
      <Menu.Target>
        <ActionIcon
          variant={isSmall ? 'subtle' : 'default'}
          color="gray"
          size={isSmall ? 'md' : 'lg'}
          aria-label={label}
        >
          <Ellipsis size={16} strokeWidth={1.75} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>{children}</Menu.Dropdown>
    </ActionMenu>
  )
}

type IconButtonProps = Omit<ActionIconProps, 'children'> & {
  label: string
  icon: LucideIcon
  onClick(): void
}

/** An icon that does something; `label` says what. */
export function IconButton({ label, icon: Icon, ...rest }: IconButtonProps) {
  return (
    <ActionIcon variant="subtle" color="gray" aria-label={label} {...rest}>
      <Icon {...ICON} />
    </ActionIcon>
  )
}

/** Adds a row to a list of inputs. */
export function AddButton({ onClick, children }: Pick<Control, 'onClick' | 'children'>) {
  return (
    <Button size="compact-sm" variant="default" leftSection={<Plus {...ICON} size={14} />} onClick={onClick}>
      {children}
    </Button>
  )
}
