"""Ask documents in a chat: `?chat=<id>` in the address says which; without it a new one begins."""

from functools import partial

import streamlit as st

from agentkit.errors import NotFound
from agentkit.ui.chat import chat, chat_list, export, search, source, welcome
from agentkit.ui.composer import address, choices, composer, link, prompts, requests
from agentkit.ui.shared import components, dialogs

address.follow()
try:
    current, problem = chat.current_chat(), ""
except NotFound as error:
    current, problem = None, str(error)

dialogs.turn_to(chat=current.id if current else "")
chat_list.draw_chat_list(current.id if current else None)
export.draw_import()
run, asked, known = None, None, choices.collections()
link.follow(current, known)
if problem:
    chat.draw_head_of_none()
    chat.draw_unknown(problem)
elif current is None:
    chat.draw_head_of_none()
    welcome.draw_welcome(known)
else:
    run = chat.live_run(current)
    if run is None:  # looked at first: nobody would ask what waits for one that ends in between
        composer.send_queued(current)
        run = chat.live_run(current)
    st.set_page_config(page_title=f"{current.title} · agentkit")
    asked = requests.in_words(run) if run else None
    chosen = choices.choice(current, known)
    export.draw_button(current)
    chat.draw_chat(current, chosen, run, asked)
    if not (run or current.head_id):
        welcome.draw_welcome(known, current)
composer.draw_pending(current.id if current else None)
composer.draw_composer(current, known, run, asked)
composer.keep_draft(current.id if current else None, prompts.show, chat.warm_up)
export.draw_dialog()
welcome.draw_dialog()
put, ask = (
    partial(composer.put_draft, current.id if current else None),
    partial(composer.ask_prompt, current),
)
prompts.draw_dialog(prompts.Uses(put, ask))
chat_id = current.id if current else ""
components.chat_page(
    source.open_source, chat_id, answering=run is not None, hit=search.leads_to(chat_id)
)
search.draw_hit(chat_id)
components.mention()
components.sidebar(current.id if current else "")
chat.speak(current, run)
