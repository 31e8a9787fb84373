// Controls that stay visible without the permission, disabled and with the reason.
import { Button, type ButtonProps, Menu, type MenuItemProps, Tooltip, VisuallyHidden } from '@mantine/core'
import { Trash2 } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { type PermissionScope, usePermission } from '../session/permissions.ts'
import { ICON } from './icon.ts'

type Guard = { permission: string; scope: PermissionScope | undefined; onClick(): void; children: ReactNode }

/** Can still be focused, so that everybody finds out why. */
export function GuardedButton({ permission, scope, onClick, ...rest }: Guard & ButtonProps) {
  const { allowed, reason } = usePermission(permission, scope)
  return <ReasonedButton {...rest} reason={allowed ? undefined : reason} onClick={onClick} />
}

type ReasonedButtonProps = ButtonProps & {
  /** Why it cannot be used; undefined if it can. */
  reason: string | undefined
  onClick(): void
  children: ReactNode
}

export function ReasonedButton({ reason, onClick, children, ...rest }: ReasonedButtonProps) {
  const id = useId()
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

export function GuardedMenuItem({ permission, scope, onClick, children, ...rest }: Guard & MenuItemProps) {
  const { allowed, reason } = usePermission(permission, scope)
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
    <GuardedMenuItem {...guard} c="var(--mantine-color-error)" leftSection={<Trash2 {...ICON} />}>
      {children}
    </GuardedMenuItem>
  )
}
