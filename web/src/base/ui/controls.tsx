// Buttons. Without the permission they stay visible, disabled and with the reason.
import { ActionIcon, type ActionIconProps, Button, type ButtonProps, VisuallyHidden } from '@mantine/core'
import { type LucideIcon, Plus } from 'lucide-react'
import { lazy, type ReactNode, Suspense, useId, useRef, useState } from 'react'
import { type PermissionScope, usePermission } from '#web/base/session/permissions.ts'
import { ICON } from './icon.ts'

const ReasonTooltip = lazy(() => import('./reason-tooltip.tsx'))

type Control = { icon?: LucideIcon; onClick(): void; children: ReactNode }
export type Guard = Control & { permission: string; scope: PermissionScope | undefined }

/** Can still be focused, so that everybody finds out why. */
export function GuardedButton({ permission, scope, onClick, ...rest }: Guard & ButtonProps) {
  const { allowed, reason } = usePermission(permission, scope)
  return <ReasonedButton {...rest} reason={allowed ? undefined : reason} onClick={onClick} />
}

/** `reason`: why it cannot be used; undefined if it can. */
type ReasonedButtonProps = ButtonProps & Control & { reason: string | undefined }

export function ReasonedButton({ reason, icon: Icon, onClick, children, ...given }: ReasonedButtonProps) {
  const rest = { ...(Icon && { leftSection: <Icon {...ICON} /> }), ...given }
  if (reason === undefined)
    return (
      <Button {...rest} onClick={onClick}>
        {children}
      </Button>
    )
  return (
    <UnusableButton {...rest} reason={reason}>
      {children}
    </UnusableButton>
  )
}

type UnusableButtonProps = ButtonProps & { reason: string; children: ReactNode }

/** The tooltip is loaded when someone wants to know. */
function UnusableButton({ reason, children, ...rest }: UnusableButtonProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const [isAsked, setAsked] = useState(false)
  return (
    <>
      <Button
        {...rest}
        ref={button}
        data-disabled
        aria-disabled
        aria-describedby={id}
        onClick={(event) => {
          event.preventDefault()
          setAsked(true)
        }}
        onPointerEnter={() => setAsked(true)}
        onPointerLeave={() => setAsked(false)}
        onFocus={(event) => setAsked(event.currentTarget.matches(':focus-visible'))}
        onBlur={() => setAsked(false)}
        onKeyDown={(event) => event.key === 'Escape' && setAsked(false)}
      >
        {children}
        <VisuallyHidden id={id}>{reason}</VisuallyHidden>
      </Button>
      {isAsked && (
        <Suspense fallback={null}>
          <ReasonTooltip target={button}>{reason}</ReasonTooltip>
        </Suspense>
      )}
    </>
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
