// Which guide, and which heading of it, explains a page. The paths are those of app.tsx.
export const GUIDES: Record<string, string> = {
  '/overview': 'dashboard#getting-around',
  '/actions': 'runs',
  '/actions/:id': 'runs#why-did-it-fail',
  '/applications': 'releases',
  '/applications/:id': 'releases#what-is-live',
  '/applications/:id/insights': 'insights',
  '/environments/:id': 'insights',
  '/servers': 'runs#deploys',
  '/servers/:id': 'runs#deploys',
  '/pipelines': 'runs',
  '/pipelines/:id': 'runs#steps',
  '/hooks': 'dashboard#debugging-an-incoming-hook',
  '/hooks/new': 'senders',
  '/hooks/incoming/:id': 'senders#trying-a-hook',
  '/hooks/outgoing/:id': 'receivers',
  '/credentials': 'receivers#templates',
  '/members': 'permissions',
  '/settings': 'gantry-yaml',
  '/audit': 'operations#audit-log',
  '/users': 'operations#accounts',
  '/new': 'first-application',
  '/account': 'tokens',
}

/** The URL of the guide to a page; undefined for pages that have none. Pure. */
export function guideFor(location: string): string | undefined {
  const candidates = [
    location,
    location.replace(/[^/]+$/, ':id'),
    location.replace(/^(\/\w+\/)[^/]+\//, '$1:id/'),
  ]
  const path = candidates.find((one) => Object.hasOwn(GUIDES, one)) ?? ''
  return Object.hasOwn(GUIDES, path) ? `/docs/guides/${GUIDES[path]}` : undefined
}
