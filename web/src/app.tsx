import { type ComponentType, lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { LeaveDialog } from './base/form/leave-dialog.tsx'
import { Loading, NotFound } from './base/ui/page.tsx'
import { forgetRecent } from './pages/shell/palette-recent.ts'
import { Shell } from './pages/shell/shell.tsx'
import { Landing } from './pages/sign-in/landing.tsx'
import { SessionGate } from './pages/sign-in/session-gate.tsx'

/** The overview does without some styles, and so loads faster. */
function page<Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) {
  return lazy(async () => {
    const styles = import('./base/ui/more-styles.ts')
    const [loaded] = await Promise.all([load(), styles])
    return loaded
  })
}

// One chunk per page: a permalink loads that page and nothing else.
const OverviewPage = lazy(() => import('./pages/overview/overview-page.tsx'))
const ActionsPage = page(() => import('./pages/actions/actions-page.tsx'))
const ActionPage = page(() => import('./pages/action/action-page.tsx'))
const PipelinesPage = page(() => import('./pages/pipelines/pipelines-page.tsx'))
const PipelinePage = page(() => import('./pages/pipelines/pipeline-page.tsx'))
const HooksPage = page(() => import('./pages/hooks/hooks-page.tsx'))
const NewHookPage = page(() => import('./pages/hooks/new-hook-page.tsx'))
const IncomingHookPage = page(() => import('./pages/hooks/incoming/incoming-hook-page.tsx'))
const OutgoingHookPage = page(() => import('./pages/hooks/outgoing/outgoing-hook-page.tsx'))
const InvitationPage = page(() => import('./pages/sign-in/invitation-page.tsx'))
const ResetPasswordPage = page(() => import('./pages/sign-in/reset-password-page.tsx'))
const DevicePage = page(() => import('./pages/sign-in/device-page.tsx'))
const AuthorizePage = page(() => import('./pages/sign-in/authorize-page.tsx'))
const AccountPage = page(() => import('./pages/account/account-page.tsx'))
const ApplicationsPage = page(() => import('./pages/applications/applications-page.tsx'))
const ApplicationPage = page(() => import('./pages/applications/application-page.tsx'))
const EnvironmentPage = page(() => import('./pages/environments/environment-page.tsx'))
const ServersPage = page(() => import('./pages/servers/servers-page.tsx'))
const ServerPage = page(() => import('./pages/servers/server-page.tsx'))
const CredentialsPage = page(() => import('./pages/credentials/credentials-page.tsx'))
const SettingsPage = page(() => import('./pages/settings/settings-page.tsx'))
const AuditPage = page(() => import('./pages/audit/audit-page.tsx'))
const UsersPage = page(() => import('./pages/users/users-page.tsx'))
const NewApplicationPage = page(() => import('./pages/first-run/new-application-page.tsx'))
const MembersPage = page(() => import('./pages/members/members-page.tsx'))

export function App() {
  return (
    <Suspense fallback={<Loading what="page" />}>
      <Switch>
        <Route path="/invitation" component={InvitationPage} />
        <Route path="/reset-password" component={ResetPasswordPage} />
        <Route path="/authorize" component={AuthorizePage} />
        <Route path="/device" component={DevicePage} />
        <Route component={SignedInPages} />
      </Switch>
    </Suspense>
  )
}

function SignedInPages() {
  return (
    <SessionGate forget={forgetRecent}>
      <LeaveDialog />
      <Shell>
        <Suspense fallback={<Loading what="page" />}>
          <Switch>
            <Route path="/" component={Landing} />
            <Route path="/sign-in" component={Landing} />
            <Route path="/overview" component={OverviewPage} />
            <Route path="/actions" component={ActionsPage} />
            <Route path="/actions/:id">{({ id }) => <ActionPage key={id} id={id} />}</Route>
            <Route path="/pipelines" component={PipelinesPage} />
            <Route path="/pipelines/:id">{({ id }) => <PipelinePage key={id} id={id} />}</Route>
            <Route path="/hooks" component={HooksPage} />
            <Route path="/hooks/new" component={NewHookPage} />
            <Route path="/hooks/incoming/:id">{({ id }) => <IncomingHookPage key={id} id={id} />}</Route>
            <Route path="/hooks/outgoing/:id">{({ id }) => <OutgoingHookPage key={id} id={id} />}</Route>
            <Route path="/hooks/:type/:id">
              <NotFound what="hook" />
            </Route>
            <Route path="/applications" component={ApplicationsPage} />
            <Route path="/applications/:id/:tab?">
              {({ id, tab }) => <ApplicationPage key={id} id={id} tab={tab} />}
            </Route>
            <Route path="/environments/:id">{({ id }) => <EnvironmentPage key={id} id={id} />}</Route>
            <Route path="/servers" component={ServersPage} />
            <Route path="/servers/:id">{({ id }) => <ServerPage key={id} id={id} />}</Route>
            <Route path="/credentials" component={CredentialsPage} />
            <Route path="/settings" component={SettingsPage} />
            <Route path="/audit" component={AuditPage} />
            <Route path="/users" component={UsersPage} />
            <Route path="/new" component={NewApplicationPage} />
            <Route path="/members" component={MembersPage} />
            <Route path="/account" component={AccountPage} />
            <Route>
              <NotFound what="page" />
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </SessionGate>
  )
}
