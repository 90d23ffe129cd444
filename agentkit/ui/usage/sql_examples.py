"""Questions that people ask of their usage, each as a SELECT to begin with."""

EXAMPLES = {
    "Cost by day and model": """select finished_at::date as day, model, sum(cost) as dollars
from calls
group by all
order by day, dollars desc nulls last""",
    "Tokens by agent": """select agent, sum(prompt_tokens) as tokens_in,
  sum(completion_tokens) as tokens_out
from calls
where agent <> ''
group by agent
order by tokens_in desc""",
    "What failed, and since when": """select error_type, provider, count(*) as calls,
  min(finished_at) as first, max(finished_at) as last, arg_max(error, finished_at) as latest
from calls
where status = 'failed'
group by all
order by last desc""",
    "The slowest questions": """select title, team, seconds, calls, tokens, cost
from runs
where kind = 'chat' and state = 'finished'
order by seconds desc
limit 20""",
    "How long a reply takes": """select model, count(*) as calls,
  quantile_cont(seconds, 0.5) as p50, quantile_cont(seconds, 0.95) as p95,
  sum(completion_tokens) / sum(seconds) as tokens_per_second
from calls
where purpose = 'chat' and status = 'ok'
group by model
order by p95 desc""",
    "Documents that are cited most": """select document, count(*) as cited,
  count(distinct message_id) as answers
from citations
group by document
order by cited desc""",
    "Found often, never cited": """select d.name, count(*) as found
from (select unnest(document_ids) as id from retrievals) f
  join documents d using (id)
where d.id not in (select document_id from citations)
group by d.name
order by found desc""",
    "Answers without evidence": """select r.title as question, m.chat, m.created_at
from messages m join runs r on r.message_id = m.id
where m.citations = 0 and not m.is_inner
order by m.created_at desc""",
}
"""By the words under which they are offered."""
