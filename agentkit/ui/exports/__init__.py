"""Chats as files for people: Markdown, and one page of HTML; no Streamlit is needed for them."""
