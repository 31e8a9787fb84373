// Menus. Items that a person may not use stay visible, with the reason.
import { ActionIcon, Menu, type MenuItemProps, type MenuProps } from '@mantine/core'
import { Ellipsis, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { usePermission } from '#web/base/session/permissions.ts'
import type { Guard } from './controls.tsx'
import { ICON } from './icon.ts'
import { focusMenuButton } from './use-return-focus.ts'

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
