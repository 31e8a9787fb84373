import { lazy, Suspense } from 'react'
import { Route, Switch } from 'wouter'
import { Landing } from './session/landing.tsx'
import { SessionGate } from './session/session-gate.tsx'
import { Shell } from './shell/shell.tsx'
import { LeaveDialog } from './ui/form/leave-dialog.tsx'
import { Loading, NotFound } from './ui/page.tsx'

// One chunk per page: a permalink loads that page and nothing else.
const OverviewPage = lazy(() => import('./overview/overview-page.tsx'))
const ActionsPage = lazy(() => import('./actions/actions-page.tsx'))
const ActionPage = lazy(() => import('./action/action-page.tsx'))
const PipelinesPage = lazy(() => import('./pipelines/pipelines-page.tsx'))
const PipelinePage = lazy(() => import('./pipelines/pipeline-page.tsx'))
const HooksPage = lazy(() => import('./hooks/hooks-page.tsx'))
const NewHookPage = lazy(() => import('./hooks/new-hook-page.tsx'))
const IncomingHookPage = lazy(() => import('./hooks/incoming/incoming-hook-page.tsx'))
const OutgoingHookPage = lazy(() => import('./hooks/outgoing/outgoing-hook-page.tsx'))
const InvitationPage = lazy(() => import('./session/invitation-page.tsx'))
const ResetPasswordPage = lazy(() => import('./session/reset-password-page.tsx'))
const AuthorizePage = lazy(() => import('./session/authorize-page.tsx'))
const AccountPage = lazy(() => import('./account/account-page.tsx'))
const ApplicationsPage = lazy(() => import('./applications/applications-page.tsx'))
const ApplicationPage = lazy(() => import('./applications/application-page.tsx'))
const ServersPage = lazy(() => import('./servers/servers-page.tsx'))
const ServerPage = lazy(() => import('./servers/server-page.tsx'))
const CredentialsPage = lazy(() => import('./credentials/credentials-page.tsx'))
const SettingsPage = lazy(() => import('./settings/settings-page.tsx'))
const AuditPage = lazy(() => import('./audit/audit-page.tsx'))
const UsersPage = lazy(() => import('./users/users-page.tsx'))
const NewApplicationPage = lazy(() => import('./first-run/new-application-page.tsx'))
const MembersPage = lazy(() => import('./members/members-page.tsx'))

export function App() {
  return (
    <Suspense fallback={<Loading what="page" />}>
      <Switch>
        <Route path="/invitation" component={InvitationPage} />
        <Route path="/reset-password" component={ResetPasswordPage} />
        <Route path="/authorize" component={AuthorizePage} />
        <Route component={SignedInPages} />
      </Switch>
    </Suspense>
  )
}

function SignedInPages() {
  return (
    <SessionGate>
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
            <Route path="/applications" component={ApplicationsPage} />
            <Route path="/applications/:id">{({ id }) => <ApplicationPage key={id} id={id} />}</Route>
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
