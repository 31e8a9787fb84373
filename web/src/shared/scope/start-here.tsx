// Empty pages: what belongs there, and the one button that starts it.
import { Button, type ButtonProps } from '@mantine/core'
import { type LucideIcon, Plus } from 'lucide-react'
import { Link } from 'wouter'
import type { Environment } from '#web/base/api/types.ts'
import {
  environmentScope,
  isGrantedWithin,
  useAnyPermission,
  useGrants,
} from '#web/base/session/permissions.ts'
import { useSession } from '#web/base/session/session.ts'
import { ReasonedButton } from '#web/base/ui/controls.tsx'
import { EmptyState, Loaded } from '#web/base/ui/page.tsx'
import { type FirstStep, firstStep, isMissing, type Needs } from './first-step.ts'
import { type Scope, scopeSearch, useScope } from './scope.ts'
import { useOrganizations } from './tree.ts'

/** What a list is about; shown while it is empty. */
export type EmptyText = { icon: LucideIcon; title: string; text: string }

type StartHereProps = EmptyText & { needs?: Needs }

/** In place of a list that nothing can be added to yet. */
export function StartHere({ icon, title, text, needs = 'environment' }: StartHereProps) {
  const step = useStep(needs)
  return (
    <Loaded query={useOrganizations()} what="organizations">
      {() =>
        step && (
          <EmptyState
            icon={icon}
            title={step.title ?? title}
            action={step.button && <StepButton {...step.button} />}
          >
            {step.title === undefined && `${text} `}
            {step.text}
          </EmptyState>
        )
      }
    </Loaded>
  )
}

function StepButton({ label, to }: { label: string; to: string }) {
  return (
    <Button component={Link} href={to}>
      {label}
    </Button>
  )
}

/**
 * Undefined while it is loading, and where `needs` is met in the selected scope, or in `environment`; also for people whose
 * roles cover parts of organizations, of which that is not known.
 */
export function useFirstStep(needs: Needs, environment?: Environment): FirstStep | undefined {
  const step = useStep(needs, environment)
  const hasRole = useGrants().data?.length !== 0
  const isPartial = useOrganizations().data?.length === 0 && hasRole
  return isPartial && !environment ? undefined : step
}

function useStep(needs: Needs, environment?: Environment): FirstStep | undefined {
  const { isInstanceAdmin, user } = useSession()
  const [selected] = useScope()
  const grants = useGrants().data
  const organizations = useOrganizations().data
  if (!grants || !organizations) return undefined
  const scope: Scope = environment ? environmentScope(environment) : selected
  const around = organizations.filter(
    ({ id }) => scope.organization === undefined || id === scope.organization,
  )
  if (!isMissing(needs, environment ? [environment] : around)) return undefined
  const hasEnvironment = environment !== undefined || !isMissing('environment', around)
  const step = firstStep({
    needs,
    organizations: environment ? 1 : around.length,
    hasRole: grants.length > 0,
    maySetUp: isGrantedWithin(grants, hasEnvironment ? 'application:add' : 'project:add', scope),
    isInstanceAdmin,
    email: user.email,
  })
  const { button } = step
  return button?.to === '/new' ? { ...step, button: { ...button, to: `/new${scopeSearch(scope)}` } } : step
}

type AddButtonProps = Pick<ButtonProps, 'variant'> & {
  permission: string
  needs: Needs
  /** In the list of an environment; otherwise in the head of a page. */
  environment?: Environment
  onClick(): void
  children: string
}

/** Adds an entry to a list. While what it needs is missing, the list offers the guided setup instead. */
export function AddButton({ permission, needs, environment, ...rest }: AddButtonProps) {
  const [selected] = useScope()
  const scope = environment ? environmentScope(environment) : selected
  const { allowed, reason } = useAnyPermission(permission, scope)
  const step = useFirstStep(needs, environment)
  if (environment && step?.button) return <StepButton {...step.button} />
  // The page below says it.
  if (!environment && step) return null
  return <ReasonedButton {...rest} icon={Plus} reason={allowed ? undefined : reason} />
}
