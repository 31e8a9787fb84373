// Which guide, and which heading of it, explains a page. The paths are those of app.tsx.
export const GUIDES: Record<string, string> = {
  '/overview': 'dashboard#getting-around',
  '/actions': 'runs',
  '/actions/:id': 'runs#why-did-it-fail',
  '/applications': 'releases',
  '/applications/:id/:tab?': 'releases#what-is-live',
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

/** Tabs that another guide explains than the rest of the page. */
const TAB_GUIDES: Record<string, string> = { insights: 'insights' }

/** The URL of the guide to a page; undefined for pages that have none. Pure. */
export function guideFor(location: string): string | undefined {
  const tab = /^\/applications\/[^/]+(?:\/([^/]+))?$/.exec(location)
  const path = tab
    ? '/applications/:id/:tab?'
    : Object.hasOwn(GUIDES, location)
      ? location
      : location.replace(/[^/]+$/, ':id')
  const name = tab?.[1] ?? ''
  if (Object.hasOwn(TAB_GUIDES, name)) return `/docs/guides/${TAB_GUIDES[name]}`
  return Object.hasOwn(GUIDES, path) ? `/docs/guides/${GUIDES[path]}` : undefined
}
