type Header = { name: string; value: string }
type Request = { target_url: string; request_headers: Header[]; request_body: Record<string, unknown> }
type Capture = { name: string; path: string; type: 'string' | 'integer' }

/** One request, or two with what is captured in between. */
export type PresetRequests =
  | Request
  | {
      capture: Capture[]
      requests: {
        create: Request
        update: Request & { method?: 'PATCH' }
        update_after_create?: boolean
      }
    }
